// SPDX-License-Identifier: MIT
// Elements, and numbers as people read them.

// Makes an element: attributes, listeners as functions, then children. Texts never become markup.
export function make(tag, attributes = {}, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value === 'function')
			element.addEventListener(name, value);
		else if (value === true)
			element.setAttribute(name, '');
		else if (value !== false && value !== null && value !== undefined)
			element.setAttribute(name, value);
	}
	element.append(...children.filter((child) => child !== null));
	return element;
}

export function percent(part, all) {
	if (!all)
		return '0 %';
	const share = 100 * part / all;
	return `${share >= 99.95 || share < 0.05 ? share.toFixed(0) : share.toFixed(1)} %`;
}

export function seconds(ns, digits = 3) {
	if (ns >= 1e9 || ns === 0)
		return `${(ns / 1e9).toFixed(digits)} s`;
	return ns >= 1e6 ? `${(ns / 1e6).toFixed(digits - 1)} ms` : `${(ns / 1e3).toFixed(1)} µs`;
}

// Returns about three digits, for columns.
export function shortSeconds(ns) {
	const [size, unit] = ns >= 1e9 || ns === 0 ? [1e9, 's'] : ns >= 1e6 ? [1e6, 'ms'] : [1e3, 'µs'], value = ns / size;
	return `${value.toFixed(ns === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2)} ${unit}`;
}

// In decimal units.
export function bytes(count) {
	const units = ['B', 'kB', 'MB', 'GB', 'TB'];
	let unit = 0;
	for (; count >= 1000 && unit < units.length - 1; unit++)
		count /= 1000;
	return `${unit ? count.toFixed(1) : count} ${units[unit]}`;
}

// A word of a table of values with commas between them.
export function csvWord(text) {
	return `"${String(text ?? '').replaceAll('"', '""')}"`;
}

// "1,234,567" everywhere.
export function grouped(value) {
	return value.toLocaleString('en-US', {maximumFractionDigits: 0});
}

export function baseName(path) {
	return path.slice(path.lastIndexOf('/') + 1) || path;
}

export function place(key) {
	if (!key.file)
		return '';
	return key.line ? `${baseName(key.file)}:${key.line}` : baseName(key.file);
}

// Truncates untrusted text, and replaces control and format characters.
export const safeText = (text) => (text ?? '').slice(0, 500).replace(/\p{C}/gu, '?');

export function functionName(key) {
	return key.function || (key.hasFrame ? '(unknown)' : '(no frame)');
}

// A canvas as large as its element, in pixels of the screen.
export function fitCanvas(canvas, width, height) {
	const scale = window.devicePixelRatio || 1, context = canvas.getContext('2d');
	const [across, down] = [width, height].map((size) => Math.max(1, Math.round(size * scale)));
	// Other pixels are slow to get.
	if (canvas.width !== across || canvas.height !== down)
		Object.assign(canvas, {width: across, height: down});
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
	context.setTransform(scale, 0, 0, scale, 0, 0);
	context.clearRect(0, 0, width, height);
	return context;
}

const widths = new Map();

// The width of a text, measured once.
function widthOf(context, text) {
	let width = widths.get(text);
	if (width === undefined) {
		if (widths.size > 20000)
			widths.clear();
		width = context.measureText(text).width;
		widths.set(text, width);
	}
	return width;
}

// The beginning of a text that fits; "" if that is less than two letters.
export function fitText(context, text, room) {
	if (text.length > 500)
		text = text.slice(0, 500);
	const width = widthOf(context, text);
	if (width <= room)
		return text;
	// Letters are of about the same width.
	let size = Math.floor(text.length * room / width);
	while (size > 1 && widthOf(context, `${text.slice(0, size)}…`) > room)
		size--;
	return size < 2 ? '' : `${text.slice(0, size)}…`;
}

// A word of a POSIX shell.
export function shellWord(text) {
	return /^[\w./:,=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// An expression that matches this name alone.
export function exactly(name) {
	return `^${name.replace(/[.[\\^$()|*+?{]/g, '\\$&')}$`;
}
