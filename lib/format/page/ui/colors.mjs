// SPDX-License-Identifier: MIT
// Colours of categories, by the names that profiles have for them: hue, saturation, lightness in
// light and dark.
const HUES = {
	yellow: [48, 88, 66, 40], orange: [28, 86, 66, 42], transparent: [212, 30, 90, 24], grey: [0, 0, 78, 34],
	lightblue: [204, 72, 74, 40], blue: [220, 78, 75, 46], green: [115, 40, 68, 34], red: [5, 76, 72, 44],
	magenta: [308, 54, 74, 42], purple: [258, 70, 78, 48], brown: [30, 40, 66, 34], lightgreen: [100, 50, 76, 36],
	lightred: [5, 76, 82, 48],
};

const dark = typeof matchMedia === 'undefined' ? {matches: false} : matchMedia('(prefers-color-scheme: dark)');
export const isDark = () => dark.matches;

// Two names of one category differ a little.
function variation(name) {
	let hash = 0;
	for (let i = 0; i < name.length && i < 64; i++)
		hash = (hash * 31 + name.charCodeAt(i)) & 0xffff;
	return hash / 0xffff - 0.5;
}

export function categoryColor(color, name = '', isPale = false) {
	const [hue, saturation, light, deep] = HUES[color] ?? HUES.grey, by = name ? variation(name) : 0;
	const lightness = isDark() ? deep + by * 8 - (isPale ? 8 : 0) : light + by * 9 + (isPale ? 9 : 0);
	return `hsl(${(hue + by * 14).toFixed(0)} ${(isPale ? saturation * 0.6 : saturation).toFixed(0)}% ${lightness.toFixed(1)}%)`;
}

const letters = new Map();

// The colour of letters that can be read on a colour: by how light that is.
export function textOn(color) {
	if (!letters.has(color)) {
		const [hue, saturation, light] = (color.startsWith('hsl') ? color : `0 0 ${isDark() ? 0 : 100}`).match(/[\d.]+/g).map(Number);
		const part = (n) => {
			const k = (n + hue / 30) % 12;
			return light / 100 - saturation * Math.min(light, 100 - light) / 1e4 * Math.max(-1, Math.min(k - 3, 9 - k, 1));
		};
		letters.set(color, 0.2126 * part(0) ** 2.2 + 0.7152 * part(8) ** 2.2 + 0.0722 * part(4) ** 2.2 > 0.18 ? '#000' : '#fff');
	}
	return letters.get(color);
}

// Colours of kinds of waits, see WAITS.
export function waitColor(wait) {
	return isDark() ? ['', '#2b3442', '#8a3350', '#4b4380'][wait] : ['', '#e0e6ee', '#f29bb4', '#c3b6ee'][wait];
}

const themes = new Map();

// A colour of the style sheet, asked for once: a browser computes styles anew for each question.
export function themeColor(name) {
	const key = `${name} ${isDark()}`;
	if (!themes.has(key))
		themes.set(key, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
	return themes.get(key);
}
