// SPDX-License-Identifier: MIT
// Ten questions that the page answers with the mouse alone, in at most four steps each.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { judge } from './report.mjs';

const STEPS_MAX = 4;

// A page on which each action is a step.
class User {
	constructor(page) {
		Object.assign(this, {page, steps: 0});
	}

	async step(action) {
		this.steps++;
		await action;
		await this.page.waitForTimeout(50);
	}

	count(name) {
		return this.step(this.page.selectOption('#events', {label: name}));
	}

	tab(name) {
		return this.step(this.page.locator(`#tab-${name}`).click());
	}

	row(name, options) {
		return this.step(this.page.locator(`#view .rows .row${name}`).first().click(options));
	}

	// Returns the place of a thread's row in the timeline; null: it is not shown.
	async threadAt(name) {
		const at = await this.page.evaluate((name) => window.profPage.timeline.rows.findIndex(({ids, isAll}) => !isAll && ids.some((id) => window.profPage.engine.threads[id].title.includes(name))), name);
		const box = await this.page.locator('#timeline canvas').boundingBox();
		return at < 0 ? null : {x: box.x + 60, y: box.y + 18 + 26 * at + 13};
	}

	async thread(name) {
		const {x, y} = await this.threadAt(name);
		await this.step(this.page.mouse.click(x, y));
	}

	// The cells of the first row of a table.
	first() {
		return this.page.locator('#view .rows .row').first().innerText();
	}
}

const tasks = {
	'who holds the lock that find_value() waits for': [async (user) => {
		await user.tab('markers');
		await user.step(user.page.locator('#markers select').selectOption({label: 'Lock (1)'}));
		await user.row('');
		return user.page.textContent('.detail');
	}, /find_value[^]*woken[^]*refresh_cache/],
	'which thread held it': [async (user) => {
		await user.tab('markers');
		await user.step(user.page.locator('#markers select').selectOption({label: 'Lock (1)'}));
		await user.row('');
		return user.page.textContent('.detail .kinds');
	}, /woken by keeper/],
	'what ran between 0.2 and 0.4 s': [async (user) => {
		await user.count('CPU time');
		const box = await user.page.locator('#timeline canvas').boundingBox(), x = (second) => user.page.evaluate((time) => window.profPage.timeline.x(time), second * 1e9);
		await user.page.mouse.move(box.x + await x(0.2), box.y + 30);
		await user.page.mouse.down();
		await user.page.mouse.move(box.x + await x(0.3), box.y + 31);
		await user.page.mouse.move(box.x + await x(0.4), box.y + 30);
		await user.step(user.page.mouse.up());
		await user.tab('functions');
		await user.step(user.page.locator('#functions .head button').nth(1).click());
		return user.page.locator('#functions .rows').innerText();
	}, /^(?![^]*solve_rows)[^]*load_tables/],
	'which thread allocated most': [async (user) => {
		await user.count('memory allocated');
		const [, row] = await user.page.evaluate(() => window.profPage.timeline.rows.map(({ids}) => window.profPage.engine.threads[ids?.[0]]?.title));
		return row;
	}, /^reader/],
	'what cc1 s10.c waited for': [async (user) => {
		await user.count('waits');
		if (!await user.threadAt('cc1 s10.c'))
			await user.step(user.page.locator('#more').click());
		await user.thread('cc1 s10.c');
		await user.tab('functions');
		return user.first();
	}, /\[read\]/],
	'the line of the hot function': [async (user) => {
		await user.count('CPU time');
		await user.tab('functions');
		await user.row(':has-text("solve_rows")', {clickCount: 2});
		return user.first();
	}, /tasks\.c\s*:3\d/],
	'copy a stack': [async (user) => {
		await user.count('CPU time');
		await user.tab('tree');
		await user.row(':has-text("solve_rows")', {button: 'right'});
		await user.step(user.page.locator('#menu button', {hasText: /^Copy the stack$/}).click());
		return user.page.evaluate(() => navigator.clipboard.readText());
	}, /^solve_rows[^]*main/],
	'without idle threads': [async (user) => {
		await user.count('CPU time');
		return String(await user.threadAt('idler'));
	}, /^null$/],
	'own code only': [async (user) => {
		await user.count('CPU time');
		await user.step(user.page.locator('.switches button', {hasText: 'own code'}).click());
		await user.tab('functions');
		return user.page.locator('#functions .rows').innerText();
	}, /^(?![^]*libc_start)[^]*main/],
	'waits in ms': [async (user) => {
		await user.count('waits');
		await user.tab('functions');
		return user.first();
	}, /^[0-9.,]+ (ms|s)\b/],
};

// `open(file)` opens a page, `pageOf(profile, name)` makes it.
export async function judgeTasks({open, pageOf, run, root, folder}) {
	const program = join(folder, 'tasks'), profile = join(folder, 'tasks.json.gz');
	for (const [level, file] of [['-O1', program], ['-O2', join(folder, 'cc1')]])
		execFileSync('gcc', [level, '-g', '-pthread', '-o', file, join(root, 'tests/workloads/answers/tasks.c')]);
	run('record', '-q', '-o', profile, '--wakers', '--alloc', '--', 'sh', '-c', `sleep 0.8 | ${folder}/cc1 s10.c & ${program}; wait`);
	const path = pageOf(profile, 'tasks');
	for (const [name, [solve, wanted]] of Object.entries(tasks)) {
		const {page, said} = await open(path, '', {permissions: ['clipboard-read', 'clipboard-write']}), user = new User(page);
		const got = await solve(user).catch((error) => error.message);
		judge(`task: ${name}`, wanted.test(got), got);
		judge(`task: ${name}: steps`, user.steps <= STEPS_MAX, user.steps);
		judge(`task: ${name}: nothing is said`, said.length === 0, said.join('\n'));
		if (process.env.PICTURES)
			await page.screenshot({path: join(process.env.PICTURES, `${name.replaceAll(/\W+/g, '-')}.png`)});
		await page.close();
	}
	await judgeGrowth({open, folder});
}

// The page of a difference opens with it.
async function judgeGrowth({open, folder}) {
	const {page} = await open(join(folder, 'difference.html'));
	judge('task: which function grew between two profiles', /▲/.test(await new User(page).first()), await new User(page).first());
	await page.close();
}
