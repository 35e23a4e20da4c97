// SPDX-License-Identifier: MIT
// Runs the script of a flame graph on a small model of a page and says what a person would see.
//
//	node flame_graph.mjs FILE ACTION...
//
// ACTION: hover=NAME, click=NAME, press=KEY, type=TEXT (into the field), show, lines.
// "show" prints the visible functions from left to right, row by row, with their widths in percent
// of the page; "lines" prints the line of details and the result of a search.
import { readFileSync } from 'node:fs';
import vm from 'node:vm';

const text = readFileSync(process.argv[2], 'utf8');
const plain = s => s.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&quot;/g, '"')
	.replace(/&#39;/g, "'").replace(/&amp;/g, '&');

class Element {
	constructor(attributes = {}, children = {}) {
		const classes = new Set();
		Object.assign(this, { attributes, parts: children, style: {}, textContent: '', value: '' });
		this.listeners = {};
		this.classList = {
			add: name => classes.add(name), remove: name => classes.delete(name),
			contains: name => classes.has(name),
			toggle: (name, on) => on ? classes.add(name) : classes.delete(name),
		};
		for (const child of Object.values(children))
			child.parentNode = this;
	}
	getAttribute(name) { return this.attributes[name]; }
	setAttribute(name, value) { this.attributes[name] = String(value); }
	querySelector(name) { return this.parts[name]; }
	addEventListener(name, fn) { this.listeners[name] = fn; }
	send(name, event) { this.listeners[name]({ preventDefault() {}, ...event }); }
	focus() { page.focused = this; }
	blur() { page.focused = null; }
	select() {}
}

const named = {};
for (const [, id] of text.matchAll(/ id="([a-z]+)"/g))
	named[id] = new Element();
const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(text);
named.flamegraph.viewBox = { baseVal: { width: +width, height: +height } };
const nodes = named.nodes.children = [];
for (const [, title, x, y, w, label] of text.matchAll(
	/<g><title>(.*)<\/title><rect x="(.*?)" y="(.*?)" width="(.*?)" .*?><text .*?>(.*)<\/text><\/g>/g)) {
	const parts = { title: new Element(), rect: new Element({ x, y, width: w }), text: new Element() };
	parts.title.textContent = plain(title);
	parts.text.textContent = plain(label);
	nodes.push(new Element({}, parts));
}
const page = Object.assign(new Element(), { focused: null, innerWidth: 1016, scrollY: 0 });
const document = { getElementById: id => named[id], body: null };
const [, script] = /<script><!\[CDATA\[\n(.*)\]\]><\/script>/s.exec(text);
vm.runInNewContext(script, { document, window: page });

const name = g => g.parts.title.textContent.replace(/ \([^()]*\)$/, '');
const isShown = g => g.style.display !== 'none';

function show() {
	const rows = nodes.filter(isShown).map(g => ({
		name: name(g) + (g.classList.contains('found') ? '!' : '') +
			(g.classList.contains('marked') ? '*' : ''),
		x: +g.parts.rect.attributes.x, y: +g.parts.rect.attributes.y,
		share: (+g.parts.rect.attributes.width / 10).toFixed(0),
	}));
	rows.sort((a, b) => a.y - b.y || a.x - b.x);
	console.log(rows.map(row => `${row.name} ${row.share}`).join(', '));
}

for (const action of process.argv.slice(3)) {
	const [, verb, value] = /^(\w+)=?(.*)$/s.exec(action);
	const node = nodes.find(g => isShown(g) && name(g) === value);

	if (verb === 'hover')
		named.nodes.send('mouseover', { target: node.parts.rect });
	else if (verb === 'click' && named[value])
		named[value].send('click', {});
	else if (verb === 'click')
		named.nodes.send('click', { target: node.parts.rect });
	else if (verb === 'press')
		page.send('keydown', { key: value, target: page.focused });
	else if (verb === 'type')
		named.field.send('input', { target: (named.field.value = value) });
	else if (verb === 'show')
		show();
	else
		console.log(`${named.detail.textContent} | ${named.result.textContent}`);
}
