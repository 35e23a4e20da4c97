// SPDX-License-Identifier: MIT
// Uses pages as people do, in chromium without a network, and reads back what they show.
//     node browser.mjs NODE_MODULES PROF FOLDER [PROFILE...]    FOLDER has million.json.gz
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { judgeTasks } from './tasks.mjs';
import { Report, VIEW_KEYS, closeJudgement, judge } from './report.mjs';

const [modules, prof, folder, ...more] = process.argv.slice(2);
const require = createRequire(modules + '/');
const { chromium } = require('playwright-core');
const axe = existsSync(join(modules, 'axe-core')) ? readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8') : null;
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
	'--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'];
const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args});
const root = new URL('../../', import.meta.url).pathname;
const report = new Report(prof), run = report.run.bind(report), weightBy = report.weightBy.bind(report);

async function open(file, hash = '', options = {}) {
	const page = await browser.newPage({viewport: {width: 1400, height: 900}, ...options});
	const said = [];
	page.on('console', (message) => said.push(message.text()));
	page.on('pageerror', (error) => said.push(error.stack));
	const home = file.startsWith('/') ? 'file:' : new URL('.', file).href;
	page.on('request', (request) => request.url().startsWith(home) || said.push(`request: ${request.url()}`));
	const begin = Date.now();
	await page.goto(`${file.startsWith('/') ? `file://${file}` : file}${hash && `#${hash}`}`);
	for (let i = 0; i < 500 && !await isReady(page); i++)
		await page.waitForTimeout(20);
	return {page, said, ms: Date.now() - begin};
}

const isReady = (page) => page.evaluate(() => Boolean(window.profPage) || document.getElementById('why')?.textContent.includes('cannot'));
const rows = (page) => page.evaluate(() => [...document.querySelectorAll('#view .rows .row')].map((row) =>
	[...row.children].map((cell) => cell.textContent.replace(/^[▾▸]/, '').trim())));
const weight = (page) => page.evaluate(() => window.profPage.engine.weight);

function page_of(profile, name) {
	const path = join(folder, `${name}.html`);
	run('convert', profile, '-o', path);
	return path;
}

async function judgeAccess(page, what) {
	if (!axe)
		return;
	// Run axe as a debugger would: the page's policy forbids scripts of others.
	const session = await page.context().newCDPSession(page);
	await session.send('Runtime.evaluate', {expression: axe});
	const result = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
	for (const violation of result.violations)
		judge(`${what}: ${violation.id}: ${violation.help}`, false, violation.nodes.map((node) => node.html.slice(0, 120)).join('\n'));
}

async function judgeViews(profile, name) {
	const path = page_of(profile, name), {page, said} = await open(path), {press} = page.keyboard;
	const key = (name) => press.call(page.keyboard, name);
	const event = ['--event', await page.evaluate(() => window.profPage.state.event)];
	const report = JSON.parse(run('report', '--format', 'json', '--limit', '0', '--min', '0', ...event, path));
	judge(`${name}: weight`, await weight(page) === report.summary.weight);
	await key('1');
	const functions = (await rows(page)).slice(0, 12).map((row) => row[2]);
	judge(`${name}: functions`, functions.every((text, i) => text.startsWith(report.rows[i].function ?? '(')), JSON.stringify(functions));
	for (const [digit, view] of Object.entries(VIEW_KEYS)) {
		await key(digit);
		judge(`${name}: key ${digit}`, await page.evaluate((id) => document.querySelector('#view > section')?.id === id, view));
		await judgeAccess(page, `${name}, ${view}`);
	}
	// By keyboard alone: the heaviest function, only with it, undone; a link to it shows the same.
	await key('1');
	await page.locator('#functions .grid').focus();
	for (const step of ['ArrowDown', 'Home', 'f'])
		await key(step);
	const only = weightBy(...event, '--focus', `^${report.rows[0].function.replace(/[.[\\^$()|*+?{]/g, '\\$&')}$`, path);
	judge(`${name}: only with`, await weight(page) === only, await weight(page));
	const again = await open(path, await page.evaluate(() => location.hash.slice(1)));
	judge(`${name}: a link`, await weight(again.page) === only);
	await again.page.close();
	await key('u');
	judge(`${name}: undone`, await weight(page) === report.summary.weight);
	// By mouse: a time, then a click in the flame graph, and Esc.
	await key('4');
	const box = await page.locator('#timeline canvas').boundingBox();
	await page.mouse.move(box.x + box.width * 0.4, box.y + 30);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * 0.5, box.y + 32);
	await page.mouse.move(box.x + box.width * 0.7, box.y + 34);
	await page.mouse.up();
	const {from, until} = await page.evaluate(() => ({from: window.profPage.state.from, until: window.profPage.state.until}));
	const text = (time) => (time / 1e9).toFixed(9);
	judge(`${name}: a time`, from > 0 && until > from);
	judge(`${name}: weight of a time`, await weight(page) === weightBy(...event, '--time', `${text(from)}..${text(until)}`, path), await weight(page));
	await key('u');
	await page.mouse.click(box.x + 200, (await page.locator('#flame canvas').boundingBox()).y + 30);
	judge(`${name}: a click zooms`, await page.evaluate(() => window.profPage.views.flame.zoomed !== 0xffffffff));
	await key('Escape');
	judge(`${name}: Esc goes back`, await page.evaluate(() => window.profPage.views.flame.zoomed === 0xffffffff));
	// Saved files: the graph as a picture that is well-formed, the functions as CSV.
	for (const [digit, ending] of [['4', 'svg'], ['5', 'svg'], ['9', 'svg'], ['1', 'csv']]) {
		await key(digit);
		const [download] = await Promise.all([page.waitForEvent('download', {timeout: 5000}), key('S')]);
		const text = readFileSync(await download.path(), 'utf8');
		judge(`${name}: saved as ${ending}`, download.suggestedFilename().endsWith(`.${ending}`));
		judge(`${name}: ${ending}`, ending === 'csv' ? text.split('\n').length > 1 && text.startsWith('self,total')
			: await page.evaluate((svg) => !new DOMParser().parseFromString(svg, 'image/svg+xml').querySelector('parsererror'), text), text.slice(0, 200));
		if (ending === 'svg')
			judge(`${name}: the picture has the heaviest function`, text.includes('<text') && text.includes('<rect'));
	}
	await judgeSteps(page, name);
	judge(`${name}: nothing is said or asked for`, said.length === 0, said.join('\n'));
	await page.close();
	return path;
}

// Back and Forward, the menu, help, what a double click opens, a sample of the timeline, all events.
async function judgeSteps(page, name) {
	const key = (text) => page.keyboard.press(text), view = () => page.evaluate(() => window.profPage.state.view);
	const focus = () => page.evaluate(() => window.profPage.state.focus);
	await page.evaluate(() => window.profPage.reset());
	await key('1');
	await key('Home');
	await key('f');
	const only = await focus();
	await key('2');
	await page.goBack();
	judge(`${name}: Back to a view`, await view() === 'functions' && await focus() === only, await view());
	await page.goBack();
	judge(`${name}: Back to a condition`, await focus() === null, await focus());
	await page.goForward();
	judge(`${name}: Forward`, only !== null && await focus() === only, await focus());
	await key('R');
	await page.locator('#functions .row[data-row="0"]').click({button: 'right'});
	judge(`${name}: a menu`, await page.locator('#menu button').count() > 8 && await page.isVisible('#menu'));
	await judgeAccess(page, `${name}, menu`);
	await key('Escape');
	judge(`${name}: Esc closes it`, !await page.isVisible('#menu') && await view() === 'functions');
	await page.locator('#functions .row[data-row="0"]').dblclick();
	judge(`${name}: a double click opens lines`, await view() === 'lines', await view());
	await key('Escape');
	judge(`${name}: Esc returns`, await view() === 'functions', await view());
	await key('?');
	judge(`${name}: help at its top`, await page.evaluate(() => document.getElementById('help').scrollTop === 0 && document.activeElement.closest('#help') !== null));
	await key('Escape');
	const box = await page.locator('#timeline canvas').boundingBox();
	const place = await page.evaluate(() => {
		const {timeline, engine} = window.profPage, row = timeline.rows.findIndex(({ids}) => ids.length), sample = engine.sampleAt(timeline.rows[row].ids[0], engine.duration / 2);
		return sample && {x: timeline.x(sample.time), y: 18 + 26 * row + 13, time: sample.time};
	});
	if (place) {
		await page.mouse.click(box.x + place.x, box.y + place.y);
		const sample = await page.evaluate(() => ({...window.profPage.sample, chosen: window.profPage.chosen?.stack}));
		judge(`${name}: a click selects a sample`, Math.abs(sample.time - place.time) < 1e8 && sample.chosen !== undefined, JSON.stringify({place, sample}));
	}
	// By mouse: the longest marker first; zoom to a selected time, and back.
	await key('0');
	await page.locator('#markers .head button').nth(1).click();
	judge(`${name}: the longest marker first`, await page.evaluate(() => {
		const {markers: {columns: {duration}}, views: {markers: {rows}}} = window.profPage;
		return rows.every((row, i) => !i || duration[rows[i - 1]] >= duration[row]);
	}));
	await page.mouse.move(box.x + box.width * 0.5, box.y + 30);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * 0.6, box.y + 32);
	await page.mouse.up();
	await page.getByText('zoom to selection').click();
	judge(`${name}: zoomed to the selection`, await page.evaluate(() => String(window.profPage.timeline.range) === String(window.profPage.timeline.selection)));
	await page.getByText('whole time').click();
	judge(`${name}: the whole time`, await page.evaluate(() => window.profPage.timeline.range[0] === 0 && window.profPage.state.from > 0));
	await key('R');
	for (const event of await page.evaluate(() => window.profPage.engine.eventNames)) {
		await page.selectOption('#events', event);
		judge(`${name}: ${event} is chosen`, await page.evaluate(() => window.profPage.engine.eventName) === event);
		for (const digit of '1234590')
			await key(digit);
	}
	await key('R');
}

// A difference: what prof diff says, in its order; colour only where it says that there is one.
async function judgeDifference() {
	execFileSync('python3', [new URL('../diff/profiles.py', import.meta.url).pathname, folder]);
	const path = join(folder, 'difference.html'), said = JSON.parse(run('diff', '--format', 'json', '-o', path, join(folder, 'variants.json')));
	const {page, said: console_} = await open(path);
	judge('difference: headline', await page.textContent('#compare h2') === said.headline, said.headline);
	const shown = await rows(page);
	judge('difference: rows', said.rows.length > 1 && said.rows.every((row, i) => i >= shown.length || shown[i][7].startsWith(row.function.replace(/\p{C}/gu, '?'))), JSON.stringify(shown));
	judge('difference: marks', said.rows.some((row) => row.differs) && said.rows.every((row, i) => i >= shown.length || /[▲▼]/.test(shown[i][2]) === row.differs), JSON.stringify(shown));
	await judgeAccess(page, 'difference');
	await page.keyboard.press('4');
	const graph = await page.evaluate(() => {
		const {engine, comparison, views: {flame: {nodes}}} = window.profPage;
		return Array.from(nodes.key, (key, at) => ({name: engine.rawFunction(nodes.by, key), depth: nodes.depth[at], shares: nodes.shares[at],
			change: comparison.change(engine, nodes.by, key)}));
	});
	for (const row of said.rows) {
		const nodes = graph.filter(({name}) => name === row.function);
		judge(`difference: ${row.function} in the graph`, nodes.length > 0 && nodes.every(({change}) => change === (row.differs ? Math.sign(row.estimate) : 0)), JSON.stringify(nodes));
	}
	judge('difference: roots have all', [0, 1].every((side) => Math.abs(graph.reduce((sum, node) => sum + (node.depth ? 0 : node.shares[side]), 0) - 1) < 1e-9), JSON.stringify(graph));
	await judgeAccess(page, 'difference, flame');
	await page.keyboard.press('8');
	judge('difference: key 8', await page.isVisible('#compare'));
	judge('difference: nothing is said or asked for', console_.length === 0, console_.join('\n'));
	await page.close();
}

// With the server of prof view: instructions weigh what prof report says, and sources are there.
async function judgeServed() {
	const profile = join(folder, 'served.json.gz');
	run('record', '-q', '-o', profile, '--', join(root, 'build/tests/workloads/inlines'), '0.5');
	const viewer = spawn(prof, ['view', '-q', '--no-open', profile], {stdio: ['ignore', 'pipe', 'inherit']});
	const url = await new Promise((resolve) => viewer.stdout.once('data', (data) => resolve(String(data).trim())));
	const {page, said} = await open(url);
	for (const name of ['main', 'inner']) {
		await page.evaluate((lines) => window.profPage.change({view: 'assembly', lines}, {isView: true}), name);
		await page.waitForSelector('#assembly .line code');
		const got = await page.evaluate(() => [...document.querySelectorAll('#assembly .line code')].map((code) =>
			[code.textContent, code.parentElement.children[1].textContent, code.parentElement.children[2].textContent]));
		// Inlined functions have no instructions of their own: their caller's are shown.
		const code = await page.evaluate(() => window.profPage.views.assembly.found[0].name);
		const {summary, instructions: wanted} = JSON.parse(run('report', '--annotate', code, '--asm', '--format', 'json', profile));
		const share = (part) => { const text = 100 * part / summary.weight; return `${text >= 99.95 || text < 0.05 ? text.toFixed(0) : text.toFixed(1)} %`; };
		const lines = wanted.map((row) => row.total ? [share(row.self), share(row.total)] : ['', '']);
		judge(`served: instructions of ${name}`, got.length === wanted.length && wanted.some((row) => row.total) &&
			lines.every(([self, total], i) => got[i][1] === self && got[i][2] === total), JSON.stringify(got.filter((row) => row[1])));
		await judgeAccess(page, `served, assembly of ${name}`);
	}
	await page.evaluate(() => window.profPage.change({view: 'lines', lines: 'inner'}, {isView: true}));
	await page.waitForSelector('#lines .line.at code', {timeout: 10000});
	judge('served: the source', (await page.textContent('#lines .line.at code')).length > 1);
	await judgeAccess(page, 'served, source');
	await page.evaluate(() => window.profPage.change({view: 'tree', source: true}, {isView: true}));
	await page.locator('#tree .name').filter({hasText: /^main$/}).first().click();
	await page.waitForSelector('#tree .line.at', {timeout: 10000});
	judge('served: the source beside the tree, in colours', await page.locator('#tree .line.at').count() === 1 && await page.locator('#tree .source .word').count() > 5);
	await judgeAccess(page, 'served, source beside the tree');
	// Saved, it is a file without a server.
	const saved = join(folder, 'served.html');
	writeFileSync(saved, await page.content());
	viewer.kill('SIGINT');
	const {page: alone} = await open(saved, 'view=assembly&lines=main');
	await alone.keyboard.press('a');
	judge('served and saved: it says that no server is there', await alone.locator('#tab-assembly').count() === 0 && (await alone.textContent('#line')).includes('not in the file'), await alone.textContent('#line'));
	judge('served: nothing is said', said.length === 0, said.join('\n'));
	await page.close();
	await alone.close();
}

async function judgeHard(path) {
	const scriptless = await browser.newPage({javaScriptEnabled: false});
	await scriptless.goto(`file://${path}`);
	judge('without scripts', await scriptless.locator('#first tbody tr').count() >= 1 && await scriptless.locator('#first').isVisible());
	const html = readFileSync(path, 'utf8');
	writeFileSync(join(folder, 'damaged.html'), html.replace('id="prof-samples">H4sI', 'id="prof-samples">AAAA'));
	const damaged = await open(join(folder, 'damaged.html'));
	judge('damaged', (await damaged.page.textContent('#why')).includes('damaged') && !damaged.said.some((text) => /Error/.test(text)), damaged.said.join('\n'));
	writeFileSync(join(folder, 'cut.html'), html.slice(0, html.indexOf('id="prof-samples"') + 60));
	const cut = await browser.newPage();
	await cut.goto(`file://${join(folder, 'cut.html')}`);
	judge('cut', await cut.locator('#first').isVisible());
	// Save it as a browser does: with the elements that scripts have made, and the data.
	const {page} = await open(path);
	writeFileSync(join(folder, 'saved.html'), await page.content());
	judge('saved, read by prof', run('report', '--format', 'csv', join(folder, 'saved.html')) === run('report', '--format', 'csv', path));
	const saved = await open(join(folder, 'saved.html'));
	judge('saved, opened again', await saved.page.evaluate(() => document.querySelectorAll('#app').length === 1), saved.said.join('\n'));
	const name = `</script><img src=x onerror=alert(1)>\u202e\u001b[31m${'y'.repeat(1 << 20)}`;
	writeFileSync(join(folder, 'hostile.folded'), `main;${name.replaceAll(/[\n;]/g, '')} 7\nmain;other 3\n`);
	const hostile = await open(page_of(join(folder, 'hostile.folded'), 'hostile'));
	for (const digit of '1234567890'.replace('8', ''))
		await hostile.page.keyboard.press(digit);
	judge('hostile names', hostile.said.length === 0 && await hostile.page.evaluate(() => !document.querySelector('img') && !/[\u202e\u001b]/.test(document.body.innerText)), hostile.said.join('\n'));
}

// A small window, paper, and a search in vain.
async function judgePlaces() {
	const path = page_of(join(root, 'build/tests/golden/profiles/markers.json'), 'markers');
	const height = (page, what) => page.evaluate((name) => document.querySelector(name).getBoundingClientRect().height, what);
	const small = await open(path, 'view=markers', {viewport: {width: 360, height: 740}});
	await small.page.locator('#markers .row[data-row="0"]').click();
	judge('360 pixels: markers beside the chosen one', await height(small.page, '#markers .grid') >= 100 && await height(small.page, '.detail') >= 50);
	await small.page.close();
	const {page} = await open(path, 'view=functions');
	await page.fill('#search', 'no such');
	judge('a search in vain', await page.textContent('#found') === 'no function has such a name', await page.textContent('#found'));
	await page.fill('#search', '');
	await page.emulateMedia({media: 'print'});
	judge('on paper: the view', await height(page, '#functions .grid') >= 200, await height(page, '#functions .grid'));
	await page.close();
}

// The marked row is the one that actions are about, also in another order, time or kind.
async function judgeChosen() {
	const {page} = await open(page_of(join(root, 'build/tests/golden/profiles/waits.json'), 'chosen'), 'view=functions');
	const marked = async (view) => (await page.locator(`#${view} .row[aria-selected="true"] .name`).textContent());
	for (const act of [() => page.locator('#functions .rows .row').last().click(), () => page.locator('#functions .head button').nth(1).click(), () => page.selectOption('#events', {label: 'waits'}),
		() => page.locator('.switches button', {hasText: 'own code'}).click()]) {
		await act();
		judge('the chosen function is the marked one', await page.textContent('#line b') === await marked('functions'), `${await page.textContent('#line b')}, ${await marked('functions')}`);
	}
	await page.close();
	const {page: other} = await open(page_of(join(root, 'build/tests/golden/profiles/markers.json'), 'kinds'));
	await other.locator('#tab-markers').click();
	for (const kind of await other.locator('#markers select option').allTextContents()) {
		await other.selectOption('#markers select', {label: kind});
		judge(`the chosen marker is the marked one: ${kind}`, await other.textContent('.detail b') === await other.locator('#markers .row[aria-selected="true"] > :nth-child(3)').textContent());
	}
	await other.close();
}

// Links and steps back keep what is zoomed and chosen; threads without times are a list.
async function judgeLinks() {
	const path = page_of(join(root, 'build/tests/golden/profiles/markers.json'), 'links'), {page} = await open(path);
	const zoomed = (page) => page.evaluate(() => { const {nodes, zoomed} = window.profPage.views.flame; return zoomed === 0xffffffff ? null : window.profPage.engine.rawFunction(nodes.by, nodes.key[zoomed]); });
	const [{x, y}, fragment] = [await page.locator('#flame canvas').boundingBox(), () => page.evaluate(() => window.profPage.note(false) ?? location.hash.slice(1))];
	for (const kind of [0, 1]) {
		await page.locator('#flame .kinds button').nth(kind).click();
		await page.mouse.click(x + 20, y + 30);
		const name = await zoomed(page), {page: other} = await open(path, await fragment());
		judge(`a link zooms, direction ${kind}`, name !== null && await zoomed(other) === name, name);
		await other.close();
		await page.goBack();
		await page.goBack();
		judge(`a step back zooms out, direction ${kind}`, await zoomed(page) === null);
	}
	await page.keyboard.press('0');
	await page.locator('#markers .row[data-row="1"]').click();
	const {page: other} = await open(path, await fragment()), said = await page.textContent('.detail');
	judge('a link chooses the marker', said.length > 0 && await other.textContent('.detail') === said, said);
	await page.close();
	await other.close();
	const profiles = ['one', 'two'].map((name, i) => ({type: 'sampled', name, unit: 'none', startValue: 0, endValue: 4, samples: [[0], [0, 1]], weights: [1 + i, 3]}));
	writeFileSync(join(folder, 'timeless.json'), JSON.stringify({$schema: 'https://www.speedscope.app/file-format-schema.json', shared: {frames: [{name: 'a'}, {name: 'b'}]}, profiles}));
	const {page: timeless} = await open(page_of(join(folder, 'timeless.json'), 'timeless'));
	judge('without times: no charts of times', await timeless.locator('#tab-stacks, #tab-chart').count() === 0 && await timeless.isVisible('#timeline'));
	const box = await timeless.locator('#timeline canvas').boundingBox();
	await timeless.mouse.click(box.x + box.width / 2, box.y + 18 + 26 + 13);
	judge('without times: a click selects the thread', await weight(timeless) === 5, await weight(timeless));
	await judgeAccess(timeless, 'without times');
	await timeless.close();
}

// More rows than a canvas can be high: those that are seen are drawn, and are where they seem to be.
async function judgeThreads() {
	const samples = Array.from({length: 3000}, (_, i) => `worker ${100}/${1000 + i} [000] ${(1 + i * 1e-5).toFixed(6)}: 1000000 cpu-clock:\n\t 401000 f${i % 13}+0x1 (/bin/app)\n\n`);
	writeFileSync(join(folder, 'threads.txt'), samples.join(''));
	const {page, said} = await open(page_of(join(folder, 'threads.txt'), 'threads'), 'grouped=false');
	await page.locator('#more').click();
	await page.locator('#timeline').evaluate((element) => { element.scrollTop = 50000; });
	await page.waitForTimeout(200);
	const shown = await page.evaluate(() => {
		const {timeline} = window.profPage, at = Math.ceil((timeline.offset - 18) / 26) + 3, box = timeline.canvas.getBoundingClientRect();
		const pixels = timeline.canvas.getContext('2d').getImageData(0, 0, timeline.canvas.width, timeline.canvas.height).data;
		return {offset: timeline.offset, id: timeline.rows[at].ids[0], y: box.top + 18 + 26 * at + 13 - timeline.offset, isDrawn: pixels.some((value) => value), rows: timeline.rows.length};
	});
	judge('many threads are drawn', shown.isDrawn && shown.offset > 40000 && shown.rows > 3000, JSON.stringify(shown));
	await page.mouse.click(60, shown.y);
	judge('a click selects the thread that is there', await page.evaluate((id) => String([...window.profPage.state.threads]) === String(id), shown.id), JSON.stringify(shown));
	judge('many threads: nothing is said', said.length === 0, said.join('\n'));
	await page.close();
}

async function measure() {
	const source = join(folder, 'million.json.gz'), path = page_of(source, 'million');
	const {page, said, ms} = await open(path);
	const size = statSync(path).size, limit = statSync(source).size + 150e3;
	judge('size', size <= limit, `${size} of ${limit}`);
	const timed = async (what, code) => {
		const times = [];
		for (let i = 0; i < 5; i++)
			times.push(await page.evaluate(`(() => { const at = performance.now(), i = ${i}; ${code}; return performance.now() - at; })()`));
		return `${what} ${Math.min(...times).toFixed(0)} ms`;
	};
	const clicks = [
		await timed('a time', 'profPage.change({from: 1e8 * (i + 1), until: 1e9 + 1e8 * i})'),
		await timed('a thread', 'profPage.change({threads: new Set([i])})'),
		await timed('everything', 'profPage.reset()'),
		await timed('functions', 'profPage.change({view: i % 2 ? "flame" : "functions"}); profPage.change({noKernel: i % 2 === 1})'),
		await timed('inverted', 'profPage.reset(); profPage.change({view: "inverted"})'),
		await timed('zoom', 'profPage.change({view: "flame"}); profPage.views.flame.draw()'),
	];
	const memory = await page.evaluate(() => window.profPage.engine.api.memory.buffer.byteLength / 1e6);
	judge('memory', memory <= 60, `${memory} MB`);
	judge('a million: nothing is said', said.length === 0, said.join('\n'));
	console.log(`1 M samples: ${(size / statSync(source).size).toFixed(2)} of the .json.gz, first picture ${ms} ms, ${memory.toFixed(0)} MB; ${clicks.join(', ')}`);
}

const profiles = [join(root, 'tests/readers/files/samply-66.json'), join(root, 'build/tests/golden/profiles/waits.json'), ...more];
let path;
for (const [i, profile] of profiles.entries())
	path = await judgeViews(profile, `page${i}`);
await judgeHard(path);
await judgePlaces();
await judgeChosen();
await judgeLinks();
await judgeThreads();
await judgeDifference();
await judgeTasks({open, pageOf: page_of, run, root, folder});
await judgeServed();
await measure();
await browser.close();
closeJudgement('chromium');
