// SPDX-License-Identifier: MIT
// Threads over time: CPU time by category from below, waits above in their own colours. A drag
// selects a time, a click on a name a thread.
import {MARKS, NONE, WAITS} from './engine.mjs';
import {bytes, fitCanvas, fitText, grouped, make, percent, seconds} from './dom.mjs';
import {categoryColor, themeColor, waitColor} from './colors.mjs';

const LANE = 26, AXIS = 18, ROWS_AT_FIRST = 6, BIN_PIXELS = 2;

export class Timeline {
	constructor(app) {
		this.app = app;
		this.canvas = make('canvas', {role: 'img', tabindex: 0, 'aria-label': 'Threads over time',
			pointerdown: (event) => this.down(event), pointermove: (event) => this.move(event),
			pointerup: (event) => this.up(event), pointercancel: () => { this.drag = null; this.draw(); },
			pointerleave: () => { if (!this.drag) this.hover(null); },
			wheel: (event) => this.wheel(event)});
		this.more = make('button', {type: 'button', id: 'more', click: () => this.fold(!this.isOpen)});
		this.legend = make('span', {class: 'legend'});
		this.element = make('section', {id: 'timeline', 'aria-label': 'Timeline'}, this.canvas, make('div', {class: 'under'}, this.more, this.legend));
		this.isOpen = false;
		this.lanes = new Map();
		this.counters = app.engine.counters();
		this.sort();
	}

	// The busiest come first.
	sort() {
		this.lanes.clear();
		this.order = this.app.engine.threads.map((thread) => thread.id).sort((a, b) => this.busy(b) - this.busy(a) || a - b);
	}

	// The weight of a thread in everything; NONE: of all.
	busy(id) {
		return id === NONE ? this.app.weight : this.app.weights[id];
	}

	get shown() {
		const active = this.order.filter((id) => this.busy(id) > 0);
		const list = active.length ? active : this.order, all = this.order.length > 1 ? [NONE] : [];
		return [...all, ...(this.isOpen ? this.order : list.slice(0, window.innerHeight < 700 || window.innerWidth < 640 ? 3 : ROWS_AT_FIRST))];
	}

	// What a lane is called.
	titleOf(id) {
		return this.app.engine.threads[id]?.whole ?? 'All threads';
	}

	// Without the process if both do not fit: the end of the thread's title distinguishes it.
	labelOf(context, id, room) {
		const whole = this.titleOf(id), text = fitText(context, whole, room);
		return text === whole || id === NONE ? text : fitText(context, this.app.engine.threads[id].title, room);
	}

	fold(isOpen) {
		this.isOpen = isOpen;
		this.draw();
		this.app.resized();
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

	lane(id, bins) {
		const [from, until] = this.range, key = `${from} ${until} ${bins} ${this.app.engine.event}`;
		if (this.laneKey !== key)
			this.lanes.clear();
		this.laneKey = key;
		if (!this.lanes.has(id))
			this.lanes.set(id, this.app.engine.timeline(id, from, until, bins));
		return this.lanes.get(id);
	}

	draw() {
		const {engine, state} = this.app, rows = this.shown, hidden = this.order.length - rows.filter((id) => id !== NONE).length;
		this.width = this.element.clientWidth;
		this.left = Math.min(170, Math.round(this.width * 0.3));
		const counters = this.shownCounters, height = AXIS + (rows.length + counters.length) * LANE, context = this.context = fitCanvas(this.canvas, this.width, height);
		const more = [hidden && `${hidden} quieter ${hidden === 1 ? 'thread' : 'threads'}`,
			this.counters.length && `${this.counters.length} ${this.counters.length === 1 ? 'counter' : 'counters'}`].filter(Boolean).join(', ');
		this.more.textContent = this.isOpen ? 'fewer rows' : `+ ${more}`;
		this.more.hidden = !more && !this.isOpen;
		this.drawLegend();
		context.font = '12px system-ui, sans-serif';
		context.textBaseline = 'middle';
		this.drawAxis(context, height);
		rows.forEach((id, i) => this.drawLane(context, id, AXIS + i * LANE));
		counters.forEach((counter, i) => this.drawCounter(context, counter, AXIS + (rows.length + i) * LANE));
		this.drawSelection(context, height);
		this.canvas.setAttribute('aria-label', `Threads over ${seconds(engine.duration)}: ` +
			rows.map((id) => `${this.titleOf(id)} ${percent(this.busy(id), this.app.weight)}`).join(', ') +
			(state.until === Infinity && !state.from ? '' : `; selected ${seconds(state.from)} to ${seconds(Math.min(state.until, engine.duration))}`));
	}

	drawLegend() {
		const waits = (this.app.engine.event ? [] : [[1, 'idle'], [2, 'blocked'], [3, 'waits for a CPU']]).map(([wait, name]) => {
			const square = make('i', {class: 'square'});
			square.style.background = waitColor(wait);
			return make('span', {class: 'key'}, square, name);
		});
		for (const [name, color] of [['marker', 'accent'], ['loss', 'loss']]) {
			const square = make('i', {class: 'square'});
			square.style.background = themeColor(color);
			waits.push(make('span', {class: 'key'}, square, name));
		}
		this.legend.replaceChildren(...waits);
	}

	drawAxis(context, height) {
		const [from, until] = this.range, wanted = (until - from) / Math.max(2, (this.width - this.left) / 110);
		const power = 10 ** Math.floor(Math.log10(wanted)), step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted);
		context.fillStyle = themeColor('faint');
		context.strokeStyle = themeColor('line');
		context.beginPath();
		for (let time = Math.ceil(from / step) * step; time <= until; time += step) {
			const x = Math.round(this.x(time)) + 0.5, digits = Math.max(0, Math.ceil(-Math.log10(step / 1e9)));
			context.moveTo(x, AXIS - 4);
			context.lineTo(x, height);
			const label = `${(time / 1e9).toFixed(digits)} s`;
			if (x + context.measureText(label).width + 4 < this.width)
				context.fillText(label, x + 3, AXIS / 2);
		}
		context.stroke();
	}

	drawLane(context, id, top) {
		const {engine, state} = this.app, width = this.width - this.left;
		const bins = Math.max(1, Math.floor(width / BIN_PIXELS)), lane = this.lane(id, bins);
		const [from, until] = this.range, bin = engine.event ? 1 : (until - from) / bins, room = LANE - 4;
		const isAll = id === NONE, isOn = isAll || !state.threads || state.threads.has(id), most = engine.event ? this.mostOf(lane) : isAll ? this.mostCpus(lane, bin) : 1;
		const colors = engine.categories.map((row) => categoryColor(row.color));
		context.globalAlpha = isOn ? 1 : 0.35;
		for (let kind = 0; !isAll && kind < WAITS.length; kind++)
			this.drawKind(context, lane, kind, bin, top + 2, room, waitColor(kind), false);
		for (let i = 0; i < bins; i++) {
			let height = 0;
			for (let kind = WAITS.length; kind < lane.kinds; kind++) {
				const part = Math.min(room - height, lane.times[i * lane.kinds + kind] / bin / most * room);
				if (part <= 0)
					continue;
				context.fillStyle = colors[kind - WAITS.length];
				context.fillRect(this.left + i * BIN_PIXELS, top + 2 + room - height - part, BIN_PIXELS, Math.max(part, 0.6));
				height += part;
			}
		}
		this.drawMarks(context, lane, top, room, isAll);
		context.fillStyle = themeColor('text');
		const share = isAll ? engine.event ? engine.amount(this.app.weight) : `${most.toFixed(0)} CPU${most > 1 ? 's' : ''}` : percent(this.busy(id), this.app.weight);
		context.fillText(this.labelOf(context, id, this.left - 58), 6, top + LANE / 2);
		context.textAlign = 'right';
		context.fillStyle = themeColor('faint');
		context.fillText(share, this.left - 8, top + LANE / 2);
		context.textAlign = 'left';
		context.globalAlpha = 1;
		if (state.threads && isOn && !isAll) {
			context.fillStyle = themeColor('accent');
			context.fillRect(0, top + 2, 3, room);
		}
		context.fillStyle = themeColor('line');
		context.fillRect(0, top + LANE - 0.5, this.width, 0.5);
	}

	// A strip above the lane: markers, losses; where the recording paused, all of it.
	drawMarks(context, lane, top, room, isAll) {
		const colors = [[MARKS.marker, themeColor('accent')], [MARKS.loss, themeColor('loss')]];
		for (const [mark, color] of isAll ? colors.slice(1) : colors) {
			context.fillStyle = color;
			for (let i = 0; i < lane.marks.length; i++) {
				if (lane.marks[i] & mark)
					context.fillRect(this.left + i * BIN_PIXELS, top + 1, BIN_PIXELS, 3);
			}
		}
		context.fillStyle = themeColor('faint');
		for (let i = 0; i < lane.marks.length; i++) {
			// Hatched, so that it does not look like a wait.
			if (lane.marks[i] & MARKS.pause && i % 3 === 0)
				context.fillRect(this.left + i * BIN_PIXELS, top + 2, 1, room);
		}
	}

	// Counters come with the quiet threads, those of the machine first.
	get shownCounters() {
		return this.isOpen ? this.counters : [];
	}

	valuesOf(counter, bins) {
		const [from, until] = this.range, key = `c${counter.id}`;
		if (!this.lanes.has(key))
			this.lanes.set(key, this.app.engine.counterValues(counter.id, from, until, bins));
		return this.lanes.get(key);
	}

	counterText(counter, value) {
		const amount = counter.unit === 'bytes' ? bytes(Math.round(value)) : `${grouped(value)} ${counter.unit}`;
		return counter.isLevel ? amount : `${amount}/s`;
	}

	drawCounter(context, counter, top) {
		const bins = Math.max(1, Math.floor((this.width - this.left) / BIN_PIXELS)), values = this.valuesOf(counter, bins);
		const most = values.reduce((a, b) => Math.max(a, b), 0) || 1, room = LANE - 4;
		context.fillStyle = categoryColor('lightblue');
		for (let i = 0; i < bins; i++) {
			const height = Math.max(0, values[i]) / most * room;
			context.fillRect(this.left + i * BIN_PIXELS, top + 2 + room - height, BIN_PIXELS, height);
		}
		context.fillStyle = themeColor('text');
		const share = this.counterText(counter, most), room2 = this.left - context.measureText(share).width - 20;
		context.fillText(fitText(context, counter.pid ? `${counter.name} ${counter.pid}` : counter.name, room2), 6, top + LANE / 2);
		context.textAlign = 'right';
		context.fillStyle = themeColor('faint');
		context.fillText(share, this.left - 8, top + LANE / 2);
		context.textAlign = 'left';
		context.fillStyle = themeColor('line');
		context.fillRect(0, top + LANE - 0.5, this.width, 0.5);
	}

	// The most of a lane's parts, without waits.
	mostOf(lane) {
		let most = 0;
		for (let at = 0; at < lane.times.length; at += lane.kinds) {
			let sum = 0;
			for (let kind = WAITS.length; kind < lane.kinds; kind++)
				sum += lane.times[at + kind];
			most = Math.max(most, sum);
		}
		return most || 1;
	}

	// The CPUs that were busy at once: the height of the lane of all threads.
	mostCpus(lane, bin) {
		return Math.max(1, Math.ceil(this.mostOf(lane) / bin - 0.25));
	}

	// Waits fill the lane's lower third: a wait is no work.
	drawKind(context, lane, kind, bin, top, room, color) {
		if (!color)
			return;
		context.fillStyle = color;
		for (let i = 0; i * lane.kinds < lane.times.length; i++) {
			if (lane.times[i * lane.kinds + kind] > bin * 0.02)
				context.fillRect(this.left + i * BIN_PIXELS, top + room * 0.62, BIN_PIXELS, room * 0.38);
		}
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
		context.fillRect(left, AXIS - 3, right - left, 3);
	}

	rowAt(y) {
		return this.shown[Math.floor((y - AXIS) / LANE)];
	}

	point(event) {
		const box = this.canvas.getBoundingClientRect();
		return [event.clientX - box.left, event.clientY - box.top];
	}

	down(event) {
		const [x, y] = this.point(event), id = this.rowAt(y);
		if (event.button)
			return;
		if (x < this.left && id !== undefined) {
			this.pick(id, event.ctrlKey || event.metaKey || event.shiftKey);
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
		this.canvas.style.cursor = x < this.left ? 'pointer' : 'crosshair';
		const counter = this.shownCounters[Math.floor((y - AXIS) / LANE) - this.shown.length];
		if (counter)
			this.sayCounter(counter, x);
		else
			this.hover(this.rowAt(y), x);
	}

	sayCounter(counter, x) {
		const bins = Math.max(1, Math.floor((this.width - this.left) / BIN_PIXELS)), values = this.valuesOf(counter, bins);
		const at = Math.min(bins - 1, Math.max(0, Math.floor((x - this.left) / BIN_PIXELS)));
		this.app.say([counter.name, counter.pid && `process ${counter.pid}`, x > this.left && `${this.counterText(counter, values[at])} at ${seconds(this.time(x))}`,
			counter.description].filter(Boolean).join(' · '));
	}

	up() {
		const drag = this.drag;
		this.drag = null;
		if (!drag)
			return;
		if (drag.isMoved)
			this.app.change({from: Math.floor(Math.min(drag.from, drag.at)), until: Math.ceil(Math.max(drag.from, drag.at))});
		else
			this.app.change({from: 0, until: Infinity});
	}

	hover(id, x = 0) {
		const {engine} = this.app;
		if (id === undefined || id === null)
			return;
		const thread = engine.threads[id];
		const parts = !thread ? [this.titleOf(id)] : [thread.title, `process ${thread.process} ${thread.pid}${thread.incarnation ? `.${thread.incarnation}` : ''}`,
			`thread ${thread.tid}`, `${engine.amount(this.busy(id))}, ${percent(this.busy(id), this.app.weight)}`];
		if (x > this.left) {
			const bins = Math.max(1, Math.floor((this.width - this.left) / BIN_PIXELS)), lane = this.lane(id, bins);
			const at = Math.min(bins - 1, Math.floor((x - this.left) / BIN_PIXELS)), names = [...WAITS, ...engine.categories.map((row) => row.name)];
			parts.push(`at ${seconds(this.time(x))}`);
			for (let kind = 0; kind < lane.kinds; kind++) {
				if (lane.times[at * lane.kinds + kind] > 0)
					parts.push(names[kind]);
			}
			if (lane.marks[at] & MARKS.pause)
				parts.push('the recording paused');
			if (lane.marks[at] & MARKS.loss)
				parts.push('samples or events were lost');
		}
		this.app.say(parts.filter(Boolean).join(' · '));
	}

	pick(id, isAdded) {
		if (id === NONE) {
			this.app.change({threads: null});
			return;
		}
		const {threads} = this.app.state, next = new Set(isAdded && threads ? threads : []);
		if (threads && threads.has(id) && (isAdded || threads.size === 1))
			next.delete(id);
		else
			next.add(id);
		this.app.change({threads: next.size ? next : null});
	}

	// Selects by keyboard what else needs a mouse: the time that is seen, the next thread.
	selectShown() {
		const {viewFrom, viewUntil} = this.app.state;
		this.app.change({from: viewFrom, until: viewUntil});
	}

	pickNext(step) {
		const {threads} = this.app.state, list = this.order, count = list.length;
		const at = threads ? list.indexOf([...threads][0]) : step > 0 ? -1 : count;
		if (count)
			this.app.change({threads: new Set([list[(at + step + count) % count]])});
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
		const isAll = from <= 0 && until >= this.app.engine.duration;
		this.app.change({viewFrom: isAll ? 0 : Math.floor(from), viewUntil: isAll ? Infinity : Math.ceil(until)}, {isView: true});
	}

	wheel(event) {
		if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) < Math.abs(event.deltaY) && this.isOpen)
			return;
		event.preventDefault();
		if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
			this.shift(event.deltaX / 1000);
		else
			this.zoom(Math.exp(event.deltaY / 400), this.time(this.point(event)[0]));
	}
}
