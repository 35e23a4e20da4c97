<?php
// SPDX-License-Identifier: MIT
// What tree.php requires.
namespace Known;

trait Grown
{
    public function growing() { return $this->branch(3); }

    private function branch($depth) { return $depth ? $this->branch($depth - 1) : spin(); }
}

function replaced($text) { return spin() . $text; }

function evaluated() { return spin(); }

function included() { return spin(); }
