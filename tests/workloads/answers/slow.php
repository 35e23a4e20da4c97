<?php
// SPDX-License-Identifier: MIT
// check_name() has a regular expression that explodes; with ?lock, take_turn() holds a lock.
function check_name(string $name): int { return (int)preg_match('/^(?:a|aa)+$/', $name); }
function take_turn(): void
{
	$file = fopen('/tmp/turn', 'c');
	flock($file, LOCK_EX);
	usleep(20000);
	flock($file, LOCK_UN);
}
function answer(): string
{
	if (isset($_GET['lock']))
		take_turn();
	else
		check_name(str_repeat('a', 22) . '!');
	return "ok\n";
}
echo answer();
