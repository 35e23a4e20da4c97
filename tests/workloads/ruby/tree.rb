# SPDX-License-Identifier: MIT
# Calls methods and blocks in a known tree: tests/ruby_truth.py has it. Calls are written on the line
# that names what they call.
require "fiber"

SPAN = (ARGV[0] || "1").to_f

# CPU time: how many samples there are must not depend on what else the machine does.
def now() Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) end

class Tree
  def spin(count = 400)
    sum = 0
    while count > 0
      sum += count
      count -= 1
    end
    sum
  end

  def recursing() recurse(40) end

  def recurse(depth)
    return bottom if depth == 1
    recurse(depth - 1)
  end

  def bottom() spin end

  def iterating
    [1, 2, 3].each { |_| each_block }
  end

  def each_block() spin end

  def sorting
    (1..8).sort_by { |n| key(n) }
  end

  def key(number)
    spin
    -number
  end

  def comparing
    [3, 1, 2, 5].map { |n| Weighed.new(n) }.sort
  end

  define_method(:defined) { |count| under_defined(count) }

  def defining() defined(400) end

  def under_defined(count) spin(count) end

  def reducing
    (1..4).inject { |sum, n| sum + added(n) }
  end

  def added(number) spin & number end

  def sending() send(:sent) end

  def sent() spin end

  def missing() this.absent end

  def this() self end

  def method_missing(name, *_) name == :absent ? handled : super end

  def respond_to_missing?(*) true end

  def handled() spin end

  def catching
    throwing(12)
  rescue ArgumentError
    rescued
  ensure
    ensured
  end

  def throwing(depth)
    raise ArgumentError, "deep" if spin && depth == 0
    throwing(depth - 1)
  end

  def rescued() spin end

  def ensured() spin end

  def fibers
    fiber = Fiber.new { in_fiber(10) }
    fiber.resume while fiber.alive?
  end

  def in_fiber(depth)
    return 2.times { yielding } if depth == 0
    in_fiber(depth - 1)
  end

  def yielding
    spin
    Fiber.yield
  end

  def enumerating
    steps = Enumerator.new { |out| 3.times { out << produced } }
    3.times { steps.next }
  end

  def produced() spin end

  def evaluating() instance_eval { evaluated } end

  def evaluated() spin end

  def Tree.single() Tree.new.spin end

  def singling() Tree.single end

  def formatting() 20.times { |n| format("%d %s %f", n, n, n) } end
end

class Weighed
  attr_reader :weight

  def initialize(weight)
    @weight = weight
  end

  def <=>(other)
    weigh
    weight - other.weight
  end

  def weigh() Tree.new.spin end
end

SCENES = %i[recursing iterating sorting comparing defining reducing sending missing catching fibers
            enumerating evaluating singling formatting].freeze

def work(span)
  tree = Tree.new
  till = now + span
  while now < till
    scenes(tree)
  end
end

def scenes(tree) SCENES.each { |name| tree.public_send(name) } end

def napping(span)
  till = now + span
  naps = 0
  while now < till || naps < 20
    nap
    naps += 1
  end
end

def nap() sleep(0.01) end

sleeper = Thread.new { napping(SPAN) }
worker = Thread.new { work(SPAN) }
work(SPAN)
[sleeper, worker].each { |thread| thread.join }
