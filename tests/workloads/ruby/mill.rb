# SPDX-License-Identifier: MIT
# Calls methods and blocks in a known tree: tests/ruby_truth.py has it. Calls are written on the line
# that names what they call. Runs in Ruby 2.7 and newer.
SPAN = (ARGV[0] || "1").to_f

# CPU time: how many samples there are must not depend on what else the machine does.
def now
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end

def grind(count = 400)
  sum = 0
  while count > 0
    sum ^= count
    count -= 1
  end
  sum
end

class Leaf
  def accept(visitor)
    visitor.leaf(self)
  end
end

class Pair
  def initialize(left, right)
    @left = left
    @right = right
  end

  def accept(visitor)
    visitor.pair(@left, @right)
  end
end

class Visitor
  def pair(left, right)
    left.accept(self)
    right.accept(self)
  end

  def leaf(_leaf)
    grind
  end
end

module Loud
  def speak
    super + grind
  end
end

class Voice
  prepend Loud

  def speak
    grind
  end
end

class Child < Voice
  def speak
    super & grind
  end
end

class Key
  attr_reader :number

  def initialize(number)
    @number = number
  end

  def hash
    grind
    number % 3
  end

  def eql?(other)
    grind
    number == other.number
  end
end

class Steps
  include Enumerable

  def each
    5.times { |n| yield stepped(n) }
  end

  def stepped(number)
    grind
    number
  end
end

class Shape
  def ===(other)
    grind
    other == 3
  end
end

def self.grown(depth)
  depth == 0 ? Leaf.new : Pair.new(grown(depth - 1), grown(depth - 1))
end

class Mill
  TWICE = ->(n) { doubled(n) }
  ROUNDS = %i[visiting speaking hashing stepping composing naming lazing matching casing retrying
              leaving looping locking structuring closing churning].freeze
  ROW = Struct.new(:left, :right)

  def initialize(grown)
    @grown = grown
    @mutex = Mutex.new
    @again = method(:again)
  end

  def self.doubled(number)
    grind
    number * 2
  end

  def rounds
    visiting
    speaking
    hashing
    stepping
    composing
    naming
    lazing
    matching
    casing
    retrying
    leaving
    looping
    locking
    structuring
    closing(6)
    churning
  end

  def visiting
    @grown.accept(Visitor.new)
  end

  def speaking
    Child.new.speak
  end

  def hashing
    table = {}
    6.times { |n| table[Key.new(n)] = n }
    table
  end

  def stepping
    Steps.new.each_slice(2) { |slice| sliced(slice) }
  end

  def sliced(slice)
    grind
    slice
  end

  def composing
    (TWICE >> TWICE).call(3)
  end

  def naming
    [1, 2, 3].map(&@again)
  end

  def again(number)
    grind
    number
  end

  def lazing
    (1..20).lazy.map { |n| lazed(n) }.first(3)
  end

  def lazed(number)
    grind
    number
  end

  def matching
    "one two three".gsub(/\w+/) { |word| shouted(word) }
  end

  def shouted(word)
    grind
    word.upcase
  end

  def casing
    case 3
    when Shape.new then grind
    end
  end

  def retrying
    tries = 0
    begin
      tries += 1
      tried(tries)
    rescue IOError
      retry
    end
  end

  def tried(tries)
    grind
    raise IOError if tries < 3
  end

  def leaving
    catch(:done) { left(15) }
  end

  def left(depth)
    throw :done if grind && depth == 0
    left(depth - 1)
  end

  def looping
    rest = 4
    loop { rest = looped(rest) }
  end

  def looped(rest)
    grind
    raise StopIteration if rest == 0
    rest - 1
  end

  def locking
    @mutex.synchronize { locked }
  end

  def locked
    grind
  end

  def structuring
    ROW.new(1, 2).each { |value| structured(value) }
  end

  def structured(value)
    grind
    value
  end

  def closing(depth)
    return closed if depth == 0
    [depth].each { |n| closing(n - 1) }
  end

  def closed
    grind
  end

  def churning
    Array.new(200) { |n| churned(n) }.join
  end

  def churned(number)
    "#{number}" * 10
  end
end

def turn(span)
  mill = Mill.new(grown(6))
  till = now + span
  while now < till
    mill.rounds
  end
end

thread = Thread.new { turn(SPAN) }
turn(SPAN)
thread.join
