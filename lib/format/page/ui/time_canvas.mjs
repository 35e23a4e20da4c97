// SPDX-License-Identifier: MIT
// A canvas whose width is the visible time range: all of them share it, and a drag over any of
// them selects a time. drawAll(), clickAt(), pressName() and hoverAt() define the rest. The
// canvas is as high as what is seen of its scroller, and stays there while the space around it scrolls.
import {fitCanvas, make, seconds} from './dom.mjs';
import {themeColor} from './colors.mjs';
import {SvgContext} from './svg.mjs';

export const AXIS = 18;

export class TimeCanvas {
	constructor(app, label) {
		Object.assign(this, {app, name: label, offset: 0, seen: 0});
		this.canvas = make('canvas', {role: 'img', tabindex: 0, 'aria-label': label,
			pointerdown: (event) => this.down(event), pointermove: (event) => this.move(event),
			pointerup: (event) => this.up(event), pointercancel: () => { this.drag = null; this.draw(); },
			pointerleave: () => this.app.tip.hide(), wheel: (event) => this.wheel(event)});
		this.space = make('div', {class: 'space'}, this.canvas);
		document.addEventListener('scroll', () => this.canvas.isConnected && this.height > this.seen && this.paintSeen(), {capture: true, passive: true});
	}

	get range() {
		const {viewFrom, viewUntil} = this.app.state, end = this.app.engine.duration || 1;
		return [Math.min(viewFrom, end - 1), Math.min(viewUntil, end)];
	}

	x(time) {
		const [from, until] = this.range;
		return this.left + (time - from) / (until - from) * (this.width - this.left);
	}

	time(x) {
		const [from, until] = this.range, part = (x - this.left) / (this.width - this.left);
		return from + Math.min(1, Math.max(0, part)) * (until - from);
	}

	// Draws the axis and the selection around what drawAll(context) draws.
	paint(height) {
		this.height = height;
		this.space.style.height = `${height}px`;
		this.seen = Math.min(height, window.innerHeight, this.scroller.clientHeight || Infinity);
		this.paintSeen();
	}

	paintSeen() {
		const context = fitCanvas(this.canvas, this.width, this.seen);
		context.font = '12px system-ui, sans-serif';
		context.textBaseline = 'middle';
		this.offset = Math.max(0, Math.round(this.canvas.getBoundingClientRect().top - this.space.getBoundingClientRect().top));
		context.translate(0, -this.offset);
		this.paintOn(context);
	}

	isSeen(top, height) {
		return top + height >= this.offset && top <= this.offset + this.seen;
	}

	// Returns a file with all rows.
	file() {
		const svg = new SvgContext(this.canvas.getContext('2d')), {offset, seen, height} = this;
		Object.assign(this, {offset: 0, seen: height});
		this.paintOn(svg);
		Object.assign(this, {offset, seen});
		return svg.file(this.name, this.width, this.height);
	}

	paintOn(context) {
		const {height, offset} = this;
		this.drawAxis(context, height);
		this.drawAll(context);
		if (offset) {
			context.fillStyle = themeColor('paper');
			context.fillRect(0, offset, this.width, AXIS);
			this.drawAxis(context, offset + AXIS);
		}
		this.drawSelection(context, height);
	}

	// The times, and lines from there down to a height.
	drawAxis(context, height) {
		if (!this.app.engine.hasTimes)
			return;
		const [from, until] = this.range, wanted = (until - from) / Math.max(2, (this.width - this.left) / 90);
		const power = 10 ** Math.floor(Math.log10(wanted)), step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted);
		context.fillStyle = themeColor('faint');
		context.strokeStyle = themeColor('line');
		context.beginPath();
		for (let time = Math.ceil(from / step) * step; time <= until; time += step) {
			const x = Math.round(this.x(time)) + 0.5, digits = Math.max(0, Math.ceil(-Math.log10(step / 1e9)));
			context.moveTo(x, this.offset + AXIS - 4);
			context.lineTo(x, height);
			const label = `${(time / 1e9).toFixed(digits)} s`;
			if (x + context.measureText(label).width + 4 < this.width)
				context.fillText(label, x + 3, this.offset + AXIS / 2);
		}
		context.stroke();
	}

	drawSelection(context, height) {
		const {state, engine} = this.app, drag = this.drag && this.drag.isMoved ? this.drag : null;
		const from = drag ? Math.min(drag.from, drag.at) : state.from;
		const until = drag ? Math.max(drag.from, drag.at) : Math.min(state.until, engine.duration);
		if (!drag && !state.from && state.until === Infinity)
			return;
		const left = Math.max(this.left, this.x(from)), right = Math.max(left + 1, Math.min(this.width, this.x(until)));
		context.fillStyle = themeColor('shade');
		context.fillRect(this.left, AXIS, left - this.left, height - AXIS);
		context.fillRect(right, AXIS, this.width - right, height - AXIS);
		context.fillStyle = themeColor('accent');
		context.fillRect(left, this.offset + AXIS - 3, right - left, 3);
	}

	point(event) {
		const box = this.canvas.getBoundingClientRect();
		return [event.clientX - box.left, event.clientY - box.top + this.offset];
	}

	down(event) {
		const [x, y] = this.point(event);
		if (event.button)
			return;
		if (x < this.left || !this.app.engine.hasTimes) {
			this.pressName(y, event.ctrlKey || event.metaKey || event.shiftKey);
			return;
		}
		this.canvas.setPointerCapture(event.pointerId);
		this.drag = {from: this.time(x), at: this.time(x), x, isMoved: false};
	}

	move(event) {
		const [x, y] = this.point(event);
		if (this.drag) {
			this.drag.isMoved ||= Math.abs(x - this.drag.x) > 3;
			this.drag.at = this.time(x);
			this.draw();
			this.app.say(`${seconds(Math.abs(this.drag.at - this.drag.from))} selected`);
			return;
		}
		this.canvas.style.cursor = x < this.left || !this.app.engine.hasTimes ? 'pointer' : 'crosshair';
		const lines = this.hoverAt(x, y);
		if (lines)
			this.app.tip.show(event, lines);
		else
			this.app.tip.hide();
	}

	up(event) {
		const {drag} = this, [x, y] = this.point(event);
		this.drag = null;
		if (drag?.isMoved)
			this.app.change({from: Math.floor(Math.min(drag.from, drag.at)), until: Math.ceil(Math.max(drag.from, drag.at))});
		else if (drag)
			this.clickAt(x, y);
	}

	// Zooms around a time, or moves; by parts of what is seen.
	zoom(factor, around = null) {
		const [from, until] = this.range, end = this.app.engine.duration, middle = around ?? (from + until) / 2;
		const next = [Math.max(0, middle - (middle - from) * factor), Math.min(end, middle + (until - middle) * factor)];
		if (next[1] - next[0] >= 1000)
			this.look(next);
	}

	shift(part) {
		const [from, until] = this.range, end = this.app.engine.duration, size = until - from;
		const begin = Math.min(Math.max(0, from + part * size), Math.max(0, end - size));
		this.look([begin, begin + size]);
	}

	look([from, until]) {
		const isAll = !this.app.engine.hasTimes || (from <= 0 && until >= this.app.engine.duration);
		this.app.change({viewFrom: isAll ? 0 : Math.floor(from), viewUntil: isAll ? Infinity : Math.ceil(until)}, {isView: true, isPassing: true});
	}

	// With Ctrl or Shift it zooms, also where a wheel alone scrolls.
	wheel(event) {
		const isAcross = Math.abs(event.deltaX) > Math.abs(event.deltaY);
		if (!event.ctrlKey && !event.shiftKey && !isAcross && this.scrolls)
			return;
		event.preventDefault();
		if (isAcross && !event.shiftKey)
			this.shift(event.deltaX / 1000);
		else
			this.zoom(Math.exp((event.deltaY || event.deltaX) / 400), this.time(this.point(event)[0]));
	}
}
