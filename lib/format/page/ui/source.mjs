// SPDX-License-Identifier: MIT
// The text of a source file beside the rows of a view, with the weights of its lines.
import {BY} from './engine.mjs';
import {baseName, make, percent} from './dom.mjs';
import {askSource, hasServer} from './server.mjs';

// More lines would be slow to lay out; the heavy ones are in the middle.
const SHOWN_MAX = 4000;
// Longer lines were made by programs.
const COLOURED_MAX = 500;
const WORDS = new Set(('abstract alignas and as assert async auto await begin bool boolean break byte case catch chan char class const constexpr continue def default defer ' +
	'del delete do double elif else elsif end enum except export extends extern final finally float fn for foreach from func function global go goto if impl implements import in ' +
	'inline instanceof int interface is lambda let long loop match mod module mut namespace native new nil None nonlocal not null of operator or package pass private protected ' +
	'pub public raise range register require rescue return self short signed sizeof static struct sub super switch template then this throw throws trait true True false ' +
	'False try type typedef typeof typename union unless unsafe unsigned until use using var virtual void volatile when where while with yield').split(' '));
const HASH_COMMENTS = /\.(py|pyx|rb|pl|pm|php|sh|r|R|ex|exs)$/;
const PARTS = /(\/\/.*|\/\*.*?(?:\*\/|$))|("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'|`[^`]*`)|(#\s*\w*.*)|\b(\d[\w.]*)|\b([A-Za-z_]\w*)/g;

// A line's comments, strings, numbers and words as elements. `state` has isComment: the line begins in one.
export function colourLine(line, file, state) {
	const parts = [], add = (kind, text) => { parts.push(kind ? make('span', {class: kind}, text) : text); };
	let done = 0;
	if (state.isComment) {
		const end = line.indexOf('*/');
		done = end < 0 ? line.length : end + 2;
		state.isComment = end < 0;
		add('comment', line.slice(0, done));
	}
	PARTS.lastIndex = done;
	for (let found = line.length <= COLOURED_MAX ? PARTS.exec(line) : null; found; found = PARTS.exec(line)) {
		let [text, comment, string, hash, number] = found, kind = comment ? 'comment' : string ? 'string' : number ? 'digits' : WORDS.has(text) ? 'word' : null;
		if (hash) {
			[text] = HASH_COMMENTS.test(file) ? [hash] : hash.match(/^#\s*\w*/);
			kind = text === hash && HASH_COMMENTS.test(file) ? 'comment' : 'word';
			PARTS.lastIndex = found.index + text.length;
		}
		if (!kind)
			continue;
		state.isComment = text.startsWith('/*') && (text.length < 4 || !text.endsWith('*/'));
		add(null, line.slice(done, found.index));
		add(kind, text);
		done = found.index + text.length;
	}
	add(null, line.slice(done));
	return parts.filter((part) => part !== '');
}

// A line of code with its weights, and heat behind it. sum: null if it has none.
export function codeLine(engine, sum, heaviest, number, parts) {
	const heat = make('i', {class: 'heat', 'aria-hidden': 'true'}), share = (weight) => percent(weight, engine.weight);
	heat.style.opacity = sum?.self ? String(0.08 + 0.6 * sum.self / heaviest) : '0';
	return make('div', {class: sum?.self ? 'line hot' : 'line'}, heat, make('span', {class: 'number'}, sum ? share(sum.self) : ''),
		make('span', {class: 'number'}, sum ? share(sum.total) : ''), make('span', {class: 'number'}, sum?.self ? engine.amount(sum.self) : ''), make('span', {class: 'number'}, number), make('code', {}, ...parts));
}

export class Source {
	constructor(app) {
		this.app = app;
		this.element = make('div', {class: 'source', tabindex: 0, role: 'region', 'aria-label': 'Source'});
	}

	// Sources are in the file, or the server of prof view has them.
	static isThere(engine) {
		return hasServer() || engine.source(null) !== null;
	}

	// A key with file and line; null: nothing to show.
	show(key) {
		const {engine, version} = this.app;
		let text = key?.file ? engine.source(key.file) : null, why = key?.file
			? `The profile does not have the text of ${key.file} (prof record --sources keeps it).` : 'No source file is known.';
		if (key?.file && text === null && hasServer()) {
			const answer = askSource({lib: key.module ?? '', file: key.file}, () => this.app.draw());
			text = answer?.source ?? null;
			why = answer ? String(answer.error) : 'Asking prof view …';
		}
		if (text === null) {
			this.element.replaceChildren(...key ? [make('p', {class: 'none'}, why)] : []);
			this.shown = null;
			return;
		}
		if (this.shown !== `${version} ${key.file}`)
			this.list(key.file, text);
		this.shown = `${version} ${key.file}`;
		this.element.querySelector('.at')?.classList.remove('at');
		const line = this.element.querySelector(`[data-line="${key.line}"]`);
		line?.classList.add('at');
		line?.scrollIntoView({block: 'center'});
	}

	list(file, text) {
		const {engine} = this.app, rows = this.app.table(BY.line), weights = new Map();
		for (let i = 0; i < rows.count; i++) {
			const key = engine.key(BY.line, rows.key[i]);
			if (key.file === file && key.line) {
				const sum = weights.get(key.line) ?? {self: 0, total: 0};
				weights.set(key.line, {self: sum.self + rows.self[i], total: sum.total + rows.total[i]});
			}
		}
		const heaviest = Math.max(1, ...[...weights.values()].map((sum) => sum.self)), lines = text.split('\n'), state = {isComment: false};
		const first = lines.length > SHOWN_MAX ? Math.max(0, Math.min(...weights.keys()) - 100) : 0;
		const list = lines.slice(first, first + SHOWN_MAX).map((line, k) => {
			const row = codeLine(engine, weights.get(first + k + 1), heaviest, String(first + k + 1), colourLine(line, file, state));
			row.dataset.line = first + k + 1;
			return row;
		});
		this.element.replaceChildren(make('div', {class: 'file', title: file}, baseName(file)), ...list);
	}
}
