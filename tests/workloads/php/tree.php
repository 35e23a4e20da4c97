<?php
// SPDX-License-Identifier: MIT
// Calls functions, methods and closures in a known tree: tests/php_truth.py has it. Calls are written
// on the line that names what they call.
namespace Known;

require __DIR__ . '/grove.php';

function spin($count = 400)
{
    $sum = 0;
    while ($count > 0) {
        $sum += $count;
        $count--;
    }
    return $sum;
}

class Tree implements \IteratorAggregate, \ArrayAccess, \Countable
{
    use Grown;

    public function recursing() { return $this->recurse(40); }

    private function recurse($depth)
    {
        if ($depth == 1)
            return $this->bottom();
        return $this->recurse($depth - 1);
    }

    private function bottom() { return spin(); }

    public function iterating()
    {
        return array_map(function ($n) { return self::each($n); }, [1, 2, 3]);
    }

    public static function each($n) { return spin() + $n; }

    public function sorting()
    {
        $numbers = [3, 1, 2, 5];
        usort($numbers, [$this, 'compare']);
        return $numbers;
    }

    public function compare($a, $b) { return $this->key($a) <=> $this->key($b); }

    private function key($n) { return spin(200) - spin(200) + $n; }

    public function reducing()
    {
        return array_reduce(range(1, 4), fn($sum, $n) => $sum + $this->added($n), 0);
    }

    private function added($n) { return spin() & $n; }

    public function replacing()
    {
        return preg_replace_callback('/b+/', function ($found) { return replaced($found[0]); }, 'abbabb');
    }

    public function missing() { return $this->absent(); }

    public function __call($name, $arguments) { return $this->handled(); }

    private function handled() { return spin(); }

    public static function __callStatic($name, $arguments) { return spin(); }

    public function lacking() { return static::lacked(); }

    public function catching()
    {
        try {
            $this->throwing(12);
        } catch (\DomainException $error) {
            $this->caught();
        } finally {
            $this->ensured();
        }
    }

    private function throwing($depth)
    {
        if (spin() && $depth == 0)
            throw new \DomainException('deep');
        $this->throwing($depth - 1);
    }

    private function caught() { return spin(); }

    private function ensured() { return spin(); }

    public function generating()
    {
        foreach ($this->generate(5) as $value)
            $value++;
    }

    private function generate($depth)
    {
        for ($i = 0; $i < 3; $i++)
            yield $this->deeper($depth);
    }

    private function deeper($depth)
    {
        if ($depth == 0)
            return $this->produced();
        return $this->deeper($depth - 1);
    }

    private function produced() { return spin(); }

    public function aggregating()
    {
        foreach ($this as $value)
            $value++;
        return iterator_to_array(new Steps());
    }

    public function getIterator(): \Traversable { return new Steps(); }

    public function printing() { return "tree: $this"; }

    public function __toString(): string { return 'printed' . spin(); }

    public function indexing() { return $this['key']; }

    #[\ReturnTypeWillChange]
    public function offsetGet($key) { return spin(); }

    #[\ReturnTypeWillChange]
    public function offsetSet($key, $value) { }

    #[\ReturnTypeWillChange]
    public function offsetExists($key) { return true; }

    #[\ReturnTypeWillChange]
    public function offsetUnset($key) { }

    public function getting() { return $this->property; }

    public function __get($name) { return spin(); }

    public function ending()
    {
        $leaf = new Leaf();
        $leaf = null;
    }

    public function counting() { return count($this); }

    #[\ReturnTypeWillChange]
    public function count() { return spin(); }

    public function evaluating() { return eval('return Known\evaluated();'); }

    public function including() { return include __DIR__ . '/twig.php'; }

    public function invoking()
    {
        $leaf = new Leaf();
        return $leaf(2) + call_user_func($leaf, 3);
    }

    public function fibers()
    {
        if (!class_exists('Fiber'))
            return;
        $fiber = new \Fiber(function () { $this->inFiber(10); });
        $fiber->start();
        while (!$fiber->isTerminated())
            $fiber->resume();
    }

    private function inFiber($depth)
    {
        if ($depth == 0)
            return array_map(fn($n) => $this->yielding($n), [1, 2]);
        return $this->inFiber($depth - 1);
    }

    private function yielding($n)
    {
        spin();
        \Fiber::suspend($n);
    }

    public function formatting()
    {
        for ($i = 0; $i < 20; $i++)
            $text = sprintf('%d %s %f', $i, str_repeat('x', $i), $i);
        return $text;
    }
}

class Steps implements \Iterator
{
    private $at = 0;

    #[\ReturnTypeWillChange]
    public function current() { return spin(100) + $this->at; }

    #[\ReturnTypeWillChange]
    public function key() { return $this->at; }

    #[\ReturnTypeWillChange]
    public function next() { $this->at += spin(100) ? 1 : 0; }

    #[\ReturnTypeWillChange]
    public function rewind() { $this->at = 0; }

    #[\ReturnTypeWillChange]
    public function valid() { return $this->at < 3; }
}

class Leaf
{
    public function __invoke($n) { return spin() + $n; }

    public function __destruct() { $this->withered(); }

    private function withered() { return spin(); }
}

const SCENES = ['recursing', 'iterating', 'sorting', 'reducing', 'replacing', 'missing', 'lacking', 'catching',
    'generating', 'aggregating', 'printing', 'indexing', 'getting', 'ending', 'counting', 'evaluating',
    'including', 'invoking', 'fibers', 'formatting', 'growing'];

// CPU time: how many samples there are must not depend on what else the machine does.
function now()
{
    $usage = getrusage();
    return $usage['ru_utime.tv_sec'] + $usage['ru_utime.tv_usec'] / 1e6;
}

function scenes(Tree $tree)
{
    foreach (SCENES as $name)
        $tree->$name();
}

function work($span)
{
    $tree = new Tree();
    $till = now() + $span;
    while (now() < $till)
        scenes($tree);
}

function nap() { usleep(10000); }

function napping()
{
    for ($i = 0; $i < 25; $i++)
        nap();
}

work((float) ($argv[1] ?? 1));
napping();
