// SPDX-License-Identifier: MIT
// A picture as SVG, drawn by the same calls as a canvas: as much of its context as the page uses.
import {themeColor} from './colors.mjs';

const escaped = (text) => text.replace(/[&<>"]/g, (letter) => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'})[letter])
	.replace(/[^\t -\ud7ff\ue000-\ufffd]/g, (letter) => (letter >= '\ud800' && letter <= '\udfff' ? letter : '?'));
const round = (value) => Number(value.toFixed(2));

export class SvgContext {
	// Measures as the canvas does.
	constructor(canvas) {
		Object.assign(this, {canvas, parts: [], fillStyle: '', strokeStyle: '', lineWidth: 1, globalAlpha: 1, dash: ''});
	}

	get alpha() {
		return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : '';
	}

	fillRect(x, y, width, height) {
		this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(Math.max(0, width))}" height="${round(height)}" fill="${this.fillStyle}"${this.alpha}/>`);
	}

	strokeRect(x, y, width, height) {
		this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(Math.max(0, width))}" height="${round(height)}" fill="none" ` +
			`stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${this.dash && ` stroke-dasharray="${this.dash}"`}/>`);
	}

	fillText(text, x, y) {
		this.parts.push(`<text x="${round(x)}" y="${round(y)}"${this.textAlign === 'right' ? ' text-anchor="end"' : ''} fill="${this.fillStyle}"${this.alpha}>${escaped(text)}</text>`);
	}

	beginPath() {
		this.path = '';
	}

	moveTo(x, y) {
		this.path += `M${round(x)} ${round(y)}`;
	}

	lineTo(x, y) {
		this.path += `L${round(x)} ${round(y)}`;
	}

	fill() {
		this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}"${this.alpha}/>`);
	}

	stroke() {
		this.parts.push(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}"${this.alpha}/>`);
	}

	setLineDash(lengths) {
		this.dash = lengths.join(' ');
	}

	measureText(text) {
		return this.canvas.measureText(text);
	}

	// Returns a file with what was drawn.
	file(title, width, height) {
		return {type: 'image/svg+xml', ending: 'svg', text: this.text(`${document.title}: ${title}`, width, height, themeColor('paper'))};
	}

	text(title, width, height, background) {
		return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
			`<title>${escaped(title)}</title><rect width="100%" height="100%" fill="${background}"/>` +
			`<g font-family="system-ui, sans-serif" font-size="12" dominant-baseline="central">${this.parts.join('\n')}</g></svg>\n`;
	}
}
