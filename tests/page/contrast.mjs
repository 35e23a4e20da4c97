// SPDX-License-Identifier: MIT
// Prints the least contrast of letters on colours of functions, in light and dark pages.
let isDark = false;
globalThis.matchMedia = () => ({get matches() { return isDark; }});
const {categoryColor, textOn} = await import('../../lib/format/page/ui/colors.mjs');

// Relative luminance as in WCAG 2, of hsl(…) or #rgb.
function luminance(color) {
	const [h, s, l] = color.startsWith('#') ? [0, 0, color === '#fff' ? 100 : 0] : color.match(/[\d.]+/g).map(Number);
	const channel = (n) => {
		const k = (n + h / 30) % 12, value = l / 100 - s / 100 * Math.min(l / 100, 1 - l / 100) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
		return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
	};
	return 0.2126 * channel(0) + 0.7152 * channel(8) + 0.0722 * channel(4);
}

let least = Infinity;
for (isDark of [false, true]) {
	for (const name of ['yellow', 'orange', 'transparent', 'grey', 'lightblue', 'blue', 'green', 'red', 'magenta', 'purple', 'brown', 'lightgreen', 'lightred']) {
		for (let i = 0; i < 400; i++) {
			const color = categoryColor(name, i ? `f${i}` : '', i % 2 === 1), [a, b] = [luminance(color), luminance(textOn(color))];
			least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
		}
	}
}
console.log(least.toFixed(1));
