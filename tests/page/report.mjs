// SPDX-License-Identifier: MIT
// Output of prof, to compare pages with, and of the comparison.
import { execFileSync } from 'node:child_process';

// Keys of views that need no function to be chosen.
export const VIEW_KEYS = {1: 'functions', 2: 'tree', 3: 'inverted', 4: 'flame', 5: 'stacks', 9: 'chart', 0: 'markers', I: 'info'};

let failed = 0;

export function judge(what, isGood, got = '') {
	if (isGood)
		return;
	failed++;
	console.log(`not ok - ${what} ${got}`);
}

export function closeJudgement(name) {
	console.log(`${name}: ${failed ? `${failed} failed` : 'all held'}`);
	process.exitCode = failed ? 1 : 0;
}

export class Report {
	constructor(prof) {
		this.prof = prof;
	}

	run(...words) {
		return execFileSync(this.prof, words, {encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe']});
	}

	// The weight of what is selected; prof report refuses where that is nothing.
	weightBy(...words) {
		try {
			return JSON.parse(this.run('report', '--format', 'json', '--min', '0', ...words)).summary.weight;
		} catch (failure) {
			return /no matching samples/.test(failure.stderr) ? 0 : -1;
		}
	}
}
