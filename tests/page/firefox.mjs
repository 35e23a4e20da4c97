// SPDX-License-Identifier: MIT
// Uses pages in Firefox ESR, by the protocol that it has built in, and reads back what they show.
//     node firefox.mjs PROF FOLDER PROFILE...    FOLDER has million.json.gz
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Report, VIEW_KEYS, closeJudgement, judge } from './report.mjs';

const [program, folder, ...profiles] = process.argv.slice(2);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const prof = new Report(program), run = prof.run.bind(prof);

// Marionette: "LENGTH:[0, id, name, parameters]" one way, "LENGTH:[1, id, error, result]" the other.
class Firefox {
	static async start() {
		const firefox = new Firefox();
		firefox.home = mkdtempSync(join(tmpdir(), 'prof-firefox-'));
		writeFileSync(join(firefox.home, 'user.js'), `user_pref("marionette.port", 0);
user_pref("app.update.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
`);
		firefox.process = spawn('firefox-esr', ['--headless', '--no-remote', '--marionette', '--remote-allow-system-access',
			'--width', '1400', '--height', '900', '--profile', firefox.home, 'about:blank'], {stdio: 'ignore'});
		const port = join(firefox.home, 'MarionetteActivePort');
		for (let i = 0; i < 600 && firefox.process.exitCode === null && !(existsSync(port) && readFileSync(port, 'utf8')); i++)
			await sleep(50);
		firefox.socket = connect(Number(readFileSync(port, 'utf8')), '127.0.0.1');
		Object.assign(firefox, {waiting: new Map(), bytes: Buffer.alloc(0), id: 0});
		firefox.socket.on('data', (data) => firefox.take(data));
		firefox.socket.on('close', () => firefox.waiting.forEach(({reject}) => reject(new Error('Firefox has ended'))));
		await firefox.ask('WebDriver:NewSession', {});
		await firefox.inside(`window.profAsked = []; Services.obs.addObserver((channel) => {
			const uri = channel.QueryInterface(Ci.nsIHttpChannel).URI.spec; if (channel.loadInfo?.browsingContextID) window.profAsked.push(uri); }, 'http-on-modify-request');`);
		return firefox;
	}

	take(data) {
		this.bytes = Buffer.concat([this.bytes, data]);
		for (;;) {
			const colon = this.bytes.indexOf(':'), size = Number(this.bytes.subarray(0, Math.max(0, colon)).toString());
			if (colon < 0 || this.bytes.length < colon + 1 + size)
				return;
			const message = JSON.parse(this.bytes.subarray(colon + 1, colon + 1 + size).toString());
			this.bytes = this.bytes.subarray(colon + 1 + size);
			if (message[0] !== 1)
				continue;
			const {resolve, reject} = this.waiting.get(message[1]);
			if (message[2])
				reject(new Error(message[2].message));
			else
				resolve(message[3]?.value);
		}
	}

	ask(name, parameters) {
		const id = ++this.id, text = JSON.stringify([0, id, name, parameters]);
		this.socket.write(`${Buffer.byteLength(text)}:${text}`);
		return new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject}));
	}

	// Runs in the page.
	get(script, ...args) {
		return this.ask('WebDriver:ExecuteScript', {script: `const {profPage} = window; ${script}`, args});
	}

	// Runs in the browser itself.
	async inside(script) {
		await this.ask('Marionette:SetContext', {value: 'chrome'});
		const value = await this.ask('WebDriver:ExecuteScript', {script, args: []});
		await this.ask('Marionette:SetContext', {value: 'content'});
		return value;
	}

	async open(address) {
		const begin = Date.now();
		await this.inside('Services.console.reset(); window.profAsked.length = 0;');
		await this.ask('WebDriver:Navigate', {url: 'about:blank'});
		await this.ask('WebDriver:Navigate', {url: address});
		for (let i = 0; i < 500 && !await this.get('return Boolean(profPage) || (document.getElementById("why")?.textContent ?? "").includes("cannot")'); i++)
			await sleep(20);
		return Date.now() - begin;
	}

	press(key) {
		const names = {Enter: '\ue007', Escape: '\ue00c', ArrowDown: '\ue015', Home: '\ue011'}, value = names[key] ?? key;
		return this.ask('WebDriver:PerformActions', {actions: [{type: 'key', id: 'keys', actions: [{type: 'keyDown', value}, {type: 'keyUp', value}]}]});
	}

	// Presses at one place, moves to the others, and lets go.
	mouse(...places) {
		const actions = places.flatMap(([x, y], i) => [{type: 'pointerMove', x: Math.round(x), y: Math.round(y), duration: 20}, ...(i ? [] : [{type: 'pointerDown', button: 0}])]);
		return this.ask('WebDriver:PerformActions', {actions: [{type: 'pointer', id: 'mouse', parameters: {pointerType: 'mouse'}, actions: [...actions, {type: 'pointerUp', button: 0}]}]});
	}

	// Messages of the console about pages, and requests.
	async said() {
		const messages = JSON.parse(await this.inside(`return JSON.stringify([...Services.console.getMessageArray().map((one) => {
			try { const error = one.QueryInterface(Ci.nsIScriptError); return error.sourceName + ': ' + error.errorMessage; } catch { return ''; } }), ...window.profAsked])`));
		return messages.filter((text) => /^(file|http|about:blank)/.test(text));
	}

	async stop() {
		await this.ask('Marionette:Quit', {flags: ['eForceQuit']}).catch(() => null);
		this.socket.destroy();
		await new Promise((resolve) => (this.process.exitCode === null ? this.process.once('exit', resolve) : resolve()));
		rmSync(this.home, {recursive: true, force: true});
	}
}

const weight = (firefox) => firefox.get('return profPage.engine.weight');
const boxOf = (firefox, what) => firefox.get('const box = document.querySelector(arguments[0]).getBoundingClientRect(); return [box.x, box.y, box.width, box.height]', what);

async function judgeViews(firefox, path, name) {
	await firefox.open(`file://${path}`);
	const event = ['--event', await firefox.get('return profPage.state.event')];
	const report = JSON.parse(run('report', '--format', 'json', '--limit', '0', '--min', '0', ...event, path));
	judge(`firefox, ${name}: weight`, await weight(firefox) === report.summary.weight);
	for (const [digit, view] of Object.entries(VIEW_KEYS)) {
		await firefox.press(digit);
		judge(`firefox, ${name}: key ${digit}`, await firefox.get('return document.querySelector("#view > section")?.id') === view);
	}
	await firefox.press('1');
	const shown = await firefox.get('return [...document.querySelectorAll("#view .rows .row")].slice(0, 12).map((row) => row.children[2].textContent)');
	judge(`firefox, ${name}: functions`, shown.length > 0 && shown.every((text, i) => text.startsWith(report.rows[i].function ?? '(')), JSON.stringify(shown));
	await firefox.get('document.querySelector("#functions .grid").focus()');
	for (const key of ['ArrowDown', 'Home', 'f'])
		await firefox.press(key);
	const only = prof.weightBy(...event, '--focus', `^${report.rows[0].function.replace(/[.[\\^$()|*+?{]/g, '\\$&')}$`, path);
	judge(`firefox, ${name}: only with`, await weight(firefox) === only, await weight(firefox));
	await firefox.press('u');
	judge(`firefox, ${name}: undone`, await weight(firefox) === report.summary.weight);
	await firefox.press('4');
	const [x, y, width] = await boxOf(firefox, '#timeline canvas');
	await firefox.mouse([x + width * 0.4, y + 30], [x + width * 0.5, y + 32], [x + width * 0.7, y + 34]);
	const [from, until] = await firefox.get('return [profPage.state.from, profPage.state.until]'), text = (time) => (time / 1e9).toFixed(9);
	judge(`firefox, ${name}: a time`, from > 0 && until > from);
	judge(`firefox, ${name}: weight of a time`, await weight(firefox) === prof.weightBy(...event, '--time', `${text(from)}..${text(until)}`, path), await weight(firefox));
	await firefox.press('u');
	const [left, top] = await boxOf(firefox, '#flame canvas'), zoomed = () => firefox.get('return profPage.views.flame.zoomed !== 0xffffffff');
	await firefox.mouse([left + 200, top + 30]);
	judge(`firefox, ${name}: a click zooms`, await zoomed());
	await firefox.press('Escape');
	judge(`firefox, ${name}: Esc goes back`, !await zoomed());
	const said = await firefox.said();
	judge(`firefox, ${name}: nothing is said or asked for`, said.length === 0, said.join('\n'));
}

const pageOf = (profile, name) => {
	const path = join(folder, `${name}.html`);
	run('convert', profile, '-o', path);
	return path;
};

const firefox = await Firefox.start();
try {
	for (const [i, profile] of profiles.entries())
		await judgeViews(firefox, pageOf(profile, `firefox${i}`), `page${i}`);
	const damaged = join(folder, 'firefox-damaged.html');
	writeFileSync(damaged, readFileSync(join(folder, 'firefox0.html'), 'utf8').replace('id="prof-samples">H4sI', 'id="prof-samples">AAAA'));
	await firefox.open(`file://${damaged}`);
	judge('firefox: damaged', (await firefox.get('return document.getElementById("why").textContent')).includes('damaged'));
	const million = pageOf(join(folder, 'million.json.gz'), 'million'), ms = await firefox.open(`file://${million}`);
	const clicks = await firefox.get(`const times = {}; for (const [name, call] of [['a time', (i) => profPage.change({from: 1e8 * (i + 1), until: 1e9 + 1e8 * i})], ['everything', () => profPage.reset()]]) {
		times[name] = 1e9; for (let i = 0; i < 5; i++) { const at = performance.now(); call(i); times[name] = Math.min(times[name], Math.round(performance.now() - at)); } } return times`);
	console.log(`Firefox ${execFileSync('firefox-esr', ['--version'], {encoding: 'utf8'}).match(/[\d.]+/)}, 1 M samples: first picture ${ms} ms; ${JSON.stringify(clicks)} ms`);
	judge('firefox: a million: nothing is said', (await firefox.said()).length === 0, (await firefox.said()).join('\n'));
} finally {
	await firefox.stop();
}
closeJudgement('firefox');
