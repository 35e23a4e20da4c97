// SPDX-License-Identifier: MIT
// Threads over time: CPU time by category from below, waits above in their own colours. A drag
// selects a time, a click on a name a thread.
import {MARKS, NONE, WAITS} from './engine.mjs';
import {bytes, fitText, grouped, make, percent, seconds, shortSeconds} from './dom.mjs';
import {categoryColor, themeColor, waitColor} from './colors.mjs';
import {PATH_EVENT} from './path.mjs';
import {FIRST} from './state.mjs';
import {AXIS, TimeCanvas} from './time_canvas.mjs';

const LANE = 26, ROWS_AT_FIRST = 6, BIN_PIXELS = 2, SAID_MAX = 100;
// Rows that are no threads.
const ALL = {ids: [], title: 'All threads', isAll: true}, PATH = {ids: [], title: 'Critical path'};
const ORDERS = {busy: 'busiest first', name: 'by name', start: 'by start'};

// The name of a thread without the number that tells it from others.
const bareTitle = ({title, tid, whole}) => whole.replace(title, title.replace(` ${tid}`, '').replace(/[-#:/ ]?\d+$/, ''));

export class Timeline extends TimeCanvas {
	constructor(app) {
		super(app, 'Threads over time');
		const isView = {isView: true};
		this.more = make('button', {type: 'button', id: 'more', click: () => this.fold(!this.isOpen)});
		const zoom = (text, range) => make('button', {type: 'button', click: () => this.look(range())}, text);
		this.zooms = [zoom('zoom to selection', () => this.selection), zoom('whole time', () => [0, app.engine.duration])];
		this.orders = make('select', {'aria-label': 'Order of threads', change: () => app.change({threadOrder: this.orders.value}, isView)},
			...Object.entries(ORDERS).map(([value, text]) => make('option', {value}, text)));
		this.filter = make('input', {type: 'search', placeholder: 'threads', 'aria-label': 'Only threads whose name has this text', spellcheck: 'false',
			input: () => app.change({threadText: this.filter.value}, {isView: true, isPassing: true})});
		this.groups = make('button', {type: 'button', title: 'Threads of equal names as one row', click: () => app.change({grouped: !app.state.grouped}, isView)}, 'group');
		this.back = make('button', {type: 'button', title: 'Show them again', click: () => app.change({hidden: null}, isView)});
		this.legend = make('span', {class: 'legend'});
		// Without times, it is a list of threads to select.
		this.element = make('section', {id: 'timeline', 'aria-label': 'Timeline', hidden: !app.engine.hasTimes && app.engine.threads.length < 2}, this.space, make('div', {class: 'under'}, this.more, ...this.zooms, this.orders, this.filter, this.groups, this.back, this.legend));
		this.scroller = this.element;
		this.lanes = new Map();
		this.counters = app.engine.counters();
		app.menuOf(this.canvas, (event) => { this.openMenu(event); return false; });
		this.sort();
	}

	// Rows in their order; equal names have one together where that is asked for.
	sort() {
		const {engine, state} = this.app, {threads} = engine, text = state.threadText.toLowerCase();
		const compare = {busy: (a, b) => this.busy(b) - this.busy(a), name: (a, b) => (threads[a].whole < threads[b].whole ? -1 : 1), start: (a, b) => threads[a].start - threads[b].start}[state.threadOrder in ORDERS ? state.threadOrder : 'busy'];
		this.lanes.clear();
		this.order = threads.map(({id}) => id).filter((id) => !state.hidden?.has(id) && (!text || `${threads[id].whole} ${threads[id].pid} ${threads[id].tid}`.toLowerCase().includes(text)))
			.sort((a, b) => compare(a, b) || a - b);
		const rows = new Map();
		for (const id of this.order) {
			const name = state.grouped ? bareTitle(threads[id]) : String(id);
			if (!rows.has(name))
				rows.set(name, {ids: [], title: state.grouped ? name : threads[id].whole});
			rows.get(name).ids.push(id);
		}
		this.list = [...rows.values()];
		if (state.threadOrder === 'busy')
			this.list.sort((a, b) => this.weightOf(b) - this.weightOf(a));
		for (const row of this.list) {
			if (row.ids.length > 1)
				row.title = row.title.replace(/( – |$)/, ` ×${row.ids.length}$1`);
			else
				row.title = threads[row.ids[0]].whole;
		}
	}

	// The weight of a thread in everything of the event.
	busy(id) {
		return this.app.weights[id];
	}

	weightOf(row) {
		return row.isAll ? this.app.weight : row.ids.reduce((sum, id) => sum + this.busy(id), 0);
	}

	get shown() {
		const active = this.list.filter((row) => this.weightOf(row) > 0), list = active.length ? active : this.list;
		return [...(this.app.engine.threads.length > 1 ? [ALL] : []), ...(this.app.path ? [PATH] : []),
			...(this.isOpen || this.app.state.threadText ? this.list : list.slice(0, window.innerHeight < 700 || window.innerWidth < 640 ? 3 : ROWS_AT_FIRST))];
	}

	// The number of the row that has the thread; -1: none that is seen.
	rowOf(id) {
		return this.rows.findIndex(({ids}) => ids.includes(id));
	}

	// With what the thread runs, if there is room; without the process if there is little.
	labelOf(context, row, room) {
		const {engine} = this.app, thread = row.ids.length === 1 ? engine.threads[row.ids[0]] : null;
		const entry = thread && engine.entryOf(thread.id), whole = entry && !row.title.includes(entry) ? `${row.title} · ${entry}` : row.title;
		for (const text of [whole, row.title]) {
			if (fitText(context, text, room) === text)
				return text;
		}
		return fitText(context, thread ? thread.title : row.title, room);
	}

	get selection() {
		const {state: {from, until}, engine} = this.app;
		return [from, Math.min(until, engine.duration)];
	}

	get isOpen() {
		return this.app.state.unfolded;
	}

	fold(isOpen) {
		this.app.change({unfolded: isOpen}, {isView: true});
	}

	// The times of a row: the sum of those of its threads.
	lane(row, bins) {
		const [from, until] = this.range, key = `${from} ${until} ${bins} ${this.app.engine.event}`;
		if (this.laneKey !== key)
			this.lanes.clear();
		this.laneKey = key;
		if (!this.lanes.has(row)) {
			const [first, ...others] = (row.isAll ? [NONE] : row.ids).map((id) => this.app.engine.timeline(id, from, until, bins));
			for (const {times, marks} of others) {
				times.forEach((time, i) => { first.times[i] += time; });
				marks.forEach((mark, i) => { first.marks[i] |= mark; });
			}
			this.lanes.set(row, first);
		}
		return this.lanes.get(row);
	}

	draw() {
		const {engine, state} = this.app, key = [state.threadOrder, state.threadText, state.grouped, state.hidden && [...state.hidden]].join('\n');
		if (this.sortKey !== key)
			this.sort();
		this.sortKey = key;
		const rows = this.shown, shown = rows.reduce((sum, {ids}) => sum + ids.length, 0), hidden = this.order.length - shown;
		this.width = this.element.clientWidth;
		this.left = Math.min(window.innerWidth < 900 ? 170 : 230, Math.round(this.width * 0.36));
		this.orders.value = state.threadOrder;
		if (document.activeElement !== this.filter)
			this.filter.value = state.threadText;
		this.groups.setAttribute('aria-pressed', String(state.grouped));
		this.back.hidden = !state.hidden;
		this.back.textContent = `${state.hidden?.size} hidden ×`;
		this.orders.hidden = this.filter.hidden = this.groups.hidden = engine.threads.length < 3;
		const counters = this.shownCounters, height = AXIS + (rows.length + counters.length) * LANE;
		const more = [hidden && `${hidden} quieter ${hidden === 1 ? 'thread' : 'threads'}`,
			this.counters.length && `${this.counters.length} ${this.counters.length === 1 ? 'counter' : 'counters'}`].filter(Boolean).join(', ');
		this.more.textContent = this.isOpen ? 'fewer rows' : `+ ${more}`;
		this.more.hidden = !more && !this.isOpen;
		this.zooms[0].hidden = [this.range, [0, engine.duration]].some((range) => String(range) === String(this.selection));
		this.zooms[1].hidden = String(this.range) === String([0, engine.duration]);
		this.drawLegend();
		Object.assign(this, {rows, counterRows: counters, scrolls: this.isOpen});
		this.paint(height);
		this.canvas.setAttribute('aria-label', `Threads over ${seconds(engine.duration)}: ` +
			rows.filter((row) => row !== PATH).slice(0, SAID_MAX).map((row) => `${row.title} ${percent(this.weightOf(row), this.app.weight)}`).join(', ') +
			(state.until === Infinity && !state.from ? '' : `; selected ${seconds(state.from)} to ${seconds(Math.min(state.until, engine.duration))}`));
	}

	drawAll(context) {
		[...this.rows, ...this.counterRows].forEach((row, i) => {
			if (!this.isSeen(AXIS + i * LANE, LANE))
				return;
			if (i < this.rows.length)
				this.drawLane(context, row, AXIS + i * LANE);
			else
				this.drawCounter(context, row, AXIS + i * LANE);
		});
		const {sample} = this.app, at = sample ? this.rowOf(sample.thread) : -1;
		if (at >= 0 && this.app.engine.hasTimes && this.x(sample.time) >= this.left) {
			context.fillStyle = themeColor('text');
			context.fillRect(this.x(sample.time) - 0.75, AXIS + at * LANE, 1.5, LANE);
		}
		if (['chart', 'markers'].includes(this.app.state.view))
			this.drawFlows(context);
	}

	// Wake-ups, from the thread that woke another to that one.
	drawFlows(context) {
		const laneOf = (id) => AXIS + (this.rowOf(id) + 0.5) * LANE, chosen = this.app.markers.chosen, draw = ({from, to, time}, color) => {
			const x = this.x(time), y1 = laneOf(from), y2 = laneOf(to), tip = y2 > y1 ? -4 : 4;
			if (x < this.left || x > this.width || this.rowOf(from) < 0 || this.rowOf(to) < 0 || from === to)
				return;
			context.strokeStyle = context.fillStyle = color;
			context.beginPath();
			context.moveTo(x, y1);
			context.lineTo(x, y2);
			context.stroke();
			context.beginPath();
			context.moveTo(x, y2);
			context.lineTo(x - 3, y2 + tip);
			context.lineTo(x + 3, y2 + tip);
			context.fill();
		};
		for (const flow of this.app.markers.flows(...this.range))
			draw(flow, themeColor('faint'));
		if (chosen) {
			context.fillStyle = context.strokeStyle = themeColor('heat');
			if (this.rowOf(chosen.thread.id) >= 0)
				context.strokeRect(this.x(chosen.start), laneOf(chosen.thread.id) - LANE / 2 + 1, Math.max(2, this.x(chosen.start + chosen.duration) - this.x(chosen.start)), LANE - 3);
			for (const {waker, time} of chosen.wakers)
				draw({from: waker.id, to: chosen.thread.id, time}, themeColor('heat'));
		}
	}

	drawLegend() {
		const waits = (this.app.engine.event || !this.app.hasWaits ? [] : [[1, 'idle'], [2, 'blocked'], [3, 'waits for a CPU']]).map(([wait, name]) => {
			const square = make('i', {class: 'square'});
			square.style.background = waitColor(wait);
			return make('span', {class: 'key'}, square, name);
		});
		const marks = this.app.engine.marksWithin(0, this.app.engine.duration + 1);
		for (const [name, color] of [['marker', 'accent'], ['loss', 'loss']].filter(([name]) => marks & MARKS[name])) {
			const square = make('i', {class: 'square'});
			square.style.background = themeColor(color);
			waits.push(make('span', {class: 'key'}, square, name));
		}
		this.legend.replaceChildren(...waits);
	}

	// Draws the time that each thread was on the critical path, and whether it ran.
	drawPath(context, top) {
		const {path, engine} = this.app, room = LANE - 4, colors = [waitColor(3), themeColor('mark')];
		let label = null;
		const flush = () => {
			const width = label ? Math.min(this.width, label.right) - Math.max(this.left, label.left) : 0;
			context.fillStyle = themeColor('text');
			if (width > 30)
				context.fillText(fitText(context, engine.threads[label.thread].title, width - 6), Math.max(this.left, label.left) + 3, top + LANE / 2);
		};
		for (const {thread, start, end, runs} of path.steps) {
			const left = Math.max(this.left, this.x(start)), right = Math.min(this.width, this.x(end));
			if (right < this.left || left > this.width)
				continue;
			context.fillStyle = colors[Number(runs)];
			context.fillRect(left, top + 2 + (runs ? 0 : room * 0.62), Math.max(0.6, right - left), runs ? room : room * 0.38);
			if (label?.thread === thread) {
				label.right = right;
				continue;
			}
			flush();
			label = {thread, left, right};
		}
		flush();
		context.fillStyle = themeColor('text');
		context.fillText('Critical path', 6, top + LANE / 2);
		context.fillStyle = themeColor('line');
		context.fillRect(0, top + LANE - 0.5, this.width, 0.5);
	}

	drawLane(context, row, top) {
		if (row === PATH) {
			this.drawPath(context, top);
			return;
		}
		const {engine, state} = this.app, width = this.width - this.left;
		const bins = engine.hasTimes ? Math.max(1, Math.floor(width / BIN_PIXELS)) : 1, lane = this.lane(row, bins);
		const [from, until] = this.range, bin = engine.event ? 1 : (until - from) / bins, room = LANE - 4;
		const isAll = row.isAll || row.ids.length > 1, isOn = row.isAll || !state.threads || row.ids.some((id) => state.threads.has(id)), most = engine.event ? this.mostOf(lane) : isAll ? this.mostCpus(lane, bin) : 1;
		const colors = engine.categories.map((row) => categoryColor(row.color));
		context.globalAlpha = isOn ? 1 : 0.35;
		if (engine.hasTimes) {
			for (let kind = 0; !isAll && kind < WAITS.length; kind++)
				this.drawKind(context, lane, kind, bin, top + 2, room, waitColor(kind), false);
			this.drawParts(context, lane, bin * most / room, top + 2, room, colors);
			this.drawMarks(context, lane, top, room, row.isAll);
		} else {
			this.drawShare(context, row, lane, top + 2, room, colors);
		}
		context.fillStyle = themeColor('text');
		const share = row.isAll ? engine.event || !engine.hasTimes ? engine.amount(this.app.weight) : `${most.toFixed(0)} CPU${most > 1 ? 's' : ''}` : percent(this.weightOf(row), this.app.weight);
		context.fillText(this.labelOf(context, row, this.left - 58), 6, top + LANE / 2);
		context.textAlign = 'right';
		context.fillStyle = themeColor('faint');
		context.fillText(share, this.left - 8, top + LANE / 2);
		context.textAlign = 'left';
		context.globalAlpha = 1;
		if (state.threads && isOn && !row.isAll) {
			context.fillStyle = themeColor('accent');
			context.fillRect(0, top + 2, 3, room);
		}
		context.fillStyle = themeColor('line');
		context.fillRect(0, top + LANE - 0.5, this.width, 0.5);
	}

	// Categories in each part of the time, from below.
	drawParts(context, lane, scale, top, room, colors) {
		for (let i = 0; i * lane.kinds < lane.times.length; i++) {
			let height = 0;
			for (let kind = WAITS.length; kind < lane.kinds; kind++) {
				const part = Math.min(room - height, lane.times[i * lane.kinds + kind] / scale);
				if (part <= 0)
					continue;
				context.fillStyle = colors[kind - WAITS.length];
				context.fillRect(this.left + i * BIN_PIXELS, top + room - height - part, BIN_PIXELS, Math.max(part, 0.6));
				height += part;
			}
		}
	}

	// The row's part of everything, by category.
	drawShare(context, row, lane, top, room, colors) {
		const sum = lane.times.reduce((all, time) => all + time, 0) || 1, pixels = this.weightOf(row) / (this.app.weight || 1) * (this.width - this.left) / sum;
		let {left} = this;
		for (let kind = 1; kind < lane.kinds; kind++) {
			context.fillStyle = kind < WAITS.length ? waitColor(kind) : colors[kind - WAITS.length];
			context.fillRect(left, top, lane.times[kind] * pixels, room);
			left += lane.times[kind] * pixels;
		}
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

	// The most in the whole recording, so that a zoom keeps the scale; a rate is higher in short parts.
	scaleOf(counter) {
		this.scales ??= new Map();
		if (!this.scales.has(counter.id))
			this.scales.set(counter.id, Math.max(...this.app.engine.counterValues(counter.id, 0, this.app.engine.duration, 1000)));
		return Math.max(this.scales.get(counter.id), counter.isLevel ? 0 : this.valuesOf(counter, Math.max(1, Math.floor((this.width - this.left) / BIN_PIXELS))).reduce((a, b) => Math.max(a, b), 0)) || 1;
	}

	counterText(counter, value) {
		const amount = counter.unit === 'bytes' ? bytes(Math.round(value)) : `${grouped(value)} ${counter.unit}`;
		return counter.isLevel ? amount : `${amount}/s`;
	}

	drawCounter(context, counter, top) {
		const bins = Math.max(1, Math.floor((this.width - this.left) / BIN_PIXELS)), values = this.valuesOf(counter, bins);
		const most = this.scaleOf(counter), room = LANE - 4;
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
		// CPU time that is read late is in one part with what came before.
		return Math.max(1, Math.min(Math.ceil(this.mostOf(lane) / bin - 0.25), this.app.engine.cpus || Infinity));
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

	rowAt(y) {
		return this.rows[Math.floor((y - AXIS) / LANE)];
	}

	hoverAt(x, y) {
		const counter = this.counterRows[Math.floor((y - AXIS) / LANE) - this.rows.length], row = this.rowAt(y);
		return counter ? this.counterWords(counter, x) : row ? this.laneWords(row, x) : null;
	}

	counterWords(counter, x) {
		const bins = Math.max(1, Math.floor((this.width - this.left) / BIN_PIXELS)), values = this.valuesOf(counter, bins);
		const at = Math.min(bins - 1, Math.max(0, Math.floor((x - this.left) / BIN_PIXELS)));
		return [counter.name, counter.pid && `process ${counter.pid}`, x > this.left && `${this.counterText(counter, values[at])} at ${seconds(this.time(x))}`,
			counter.description];
	}

	stepAt(x) {
		const time = this.time(x);
		return x < this.left ? null : this.app.path.steps.find(({start, end}) => time >= start && time < end) ?? null;
	}

	laneWords(row, x) {
		if (row === PATH) {
			const step = this.stepAt(x);
			return step ? [this.app.engine.threads[step.thread].whole, `${seconds(step.end - step.start)} from ${seconds(step.start)}`, step.fields] : ['Critical path', 'what made the command take so long'];
		}
		const {engine} = this.app, thread = row.ids.length === 1 ? engine.threads[row.ids[0]] : null, weight = this.weightOf(row), parts = [thread ? thread.title : row.title,
			thread && `process ${thread.process} ${thread.pid}${thread.incarnation ? `.${thread.incarnation}` : ''}, thread ${thread.tid}`, thread && engine.entryOf(thread.id) && `runs ${engine.entryOf(thread.id)}`,
			`${engine.amount(weight)}, ${percent(weight, this.app.weight)}`];
		if (x <= this.left || !engine.hasTimes)
			return parts;
		const bins = Math.max(1, Math.floor((this.width - this.left) / BIN_PIXELS)), lane = this.lane(row, bins);
		const at = Math.min(bins - 1, Math.floor((x - this.left) / BIN_PIXELS)), names = [...WAITS, ...engine.categories.map((row) => row.name)], kinds = [];
		for (let kind = 0; kind < lane.kinds; kind++) {
			const amount = lane.times[at * lane.kinds + kind];
			if (amount > 0)
				kinds.push(`${names[kind]} ${engine.event ? engine.amount(Math.round(amount)) : shortSeconds(amount)}`);
		}
		return [...parts, `at ${seconds(this.time(x))}: ${kinds.join(', ') || 'nothing'}`, lane.marks[at] & MARKS.pause && 'the recording paused',
			lane.marks[at] & MARKS.loss && 'samples or events were lost'];
	}

	pressName(y, isAdded) {
		const row = this.rowAt(y);
		if (row)
			this.pick(row, isAdded);
	}

	// Selects the sample there; the lane of all threads has the thread that is busiest.
	clickAt(x, y) {
		const row = this.rowAt(y), time = this.time(x), {engine} = this.app, ids = row === PATH ? [this.stepAt(x)?.thread].filter((id) => id !== undefined) : row?.isAll ? this.order : row?.ids ?? [];
		let best = null;
		for (const id of ids) {
			const sample = engine.sampleAt(id, time);
			if (sample && (!best || Math.abs(sample.time - time) < Math.abs(best.time - time)))
				best = {...sample, thread: id};
		}
		if (best)
			this.app.chooseSample(best);
		else
			this.app.say('No selected sample is there.');
	}

	// Opens the menu of a row's threads.
	openMenu(event) {
		const {app} = this, row = this.rowAt(this.point(event)[1]), ids = new Set(row?.ids), isView = {isView: true};
		if (!ids.size)
			return;
		const hide = (list) => app.change({hidden: new Set([...app.state.hidden ?? [], ...list])}, isView);
		app.menu.open(event.clientX, event.clientY, [['Only this', '', () => app.change({threads: ids})],
			['This, too', 'Ctrl+click', () => app.change({threads: new Set([...app.state.threads ?? [], ...ids])})],
			['All but this', '', () => app.change({threads: new Set(this.order.filter((id) => !ids.has(id)))})], null,
			['Hide this row', '', () => hide(ids)], ['Hide all other rows', '', () => hide(this.order.filter((id) => !ids.has(id)))],
			[app.state.grouped ? 'Do not group equal names' : 'Group equal names', '', () => app.change({grouped: !app.state.grouped}, isView)],
			['Stack chart', '5', () => app.change({threads: ids, view: 'stacks'})]]);
	}

	pick(row, isAdded) {
		if (row === PATH) {
			this.app.change(this.app.state.event === PATH_EVENT ? {event: FIRST.event} : {event: PATH_EVENT, includeIdle: true});
			return;
		}
		if (row.isAll) {
			this.app.change({threads: null});
			return;
		}
		const {threads} = this.app.state, {ids} = row, next = new Set(isAdded && threads ? threads : []), isOn = threads && ids.every((id) => threads.has(id));
		for (const id of ids) {
			if (isOn && (isAdded || threads.size === ids.length))
				next.delete(id);
			else
				next.add(id);
		}
		this.app.change({threads: next.size ? next : null});
	}

	// Keyboard alternatives to the mouse: select the visible time, or the next thread.
	selectShown() {
		const {viewFrom, viewUntil} = this.app.state;
		this.app.change({from: viewFrom, until: viewUntil});
	}

	pickNext(step) {
		const {threads} = this.app.state, {list} = this, count = list.length;
		const at = threads ? list.findIndex(({ids}) => threads.has(ids[0])) : step > 0 ? -1 : count;
		if (count)
			this.app.change({threads: new Set(list[(at + step + count) % count].ids)});
	}
}
