// SPDX-License-Identifier: MIT
// The stack chart: which functions were on the stacks of threads, from when to when.
import {BY} from './engine.mjs';
import {fitText, functionName, make, place, seconds} from './dom.mjs';
import {categoryColor, textOn, themeColor} from './colors.mjs';
import {AXIS, TimeCanvas} from './time_canvas.mjs';

const STACK_ROW = 17, TITLE_ROW = 22, THREADS_AT_FIRST = 3, THREADS_MAX = 12, SPAN_TEXT_MIN = 24;

export class StackChart extends TimeCanvas {
	constructor(app) {
		super(app, 'Functions over time');
		this.scrolls = true;
		this.scroller = make('div', {class: 'scroller', tabindex: -1}, this.space);
		this.title = make('span', {class: 'hint'});
		this.element = make('section', {id: 'stacks', 'aria-label': 'Stack chart'}, make('div', {class: 'bar'}, this.title), this.scroller);
		this.canvas.addEventListener('dblclick', () => app.showLines());
		this.charts = new Map();
		app.menuOf(this.canvas, (event) => this.clickAt(...this.point(event)));
	}

	// Those that are selected, or the busiest.
	get threads() {
		const {state, timeline, engine} = this.app, order = timeline.order.filter((id) => engine.weightOf(id) > 0);
		return state.threads ? order.filter((id) => state.threads.has(id)).slice(0, THREADS_MAX) : order.slice(0, THREADS_AT_FIRST);
	}

	chartOf(id, bins) {
		const [from, until] = this.range, key = `${this.app.version} ${from} ${until} ${bins}`;
		if (this.key !== key)
			this.charts.clear();
		this.key = key;
		if (!this.charts.has(id))
			this.charts.set(id, this.app.engine.stackChart(id, from, until, bins));
		return this.charts.get(id);
	}

	draw() {
		const {app} = this, {threads} = this;
		this.left = app.timeline.left;
		this.width = this.scroller.clientWidth;
		const bins = Math.max(1, Math.floor(this.width - this.left));
		let top = AXIS;
		this.parts = threads.map((id) => {
			const chart = this.chartOf(id, bins), part = {id, chart, top};
			top += TITLE_ROW + chart.rows * STACK_ROW;
			return part;
		});
		this.title.textContent = !threads.length ? 'No sample is selected.' : app.state.threads ? 'of the selected threads'
			: `of the busiest threads: names in the timeline select others${app.hasWaits && !app.state.includeIdle ? ', “waits” shows what they wait for' : ''}`;
		this.canvas.setAttribute('aria-label', `Functions over time of ${threads.map((id) => app.engine.threads[id].whole).join(', ')}; the call tree has them as a table`);
		this.paint(top + TITLE_ROW);
	}

	drawAll(context) {
		for (const part of this.parts)
			this.drawPart(context, part);
	}

	drawPart(context, {id, chart, top}) {
		const {engine, marks, chosen} = this.app, painted = [];
		context.fillStyle = themeColor('text');
		context.fillText(fitText(context, engine.threads[id].whole, this.left - 12), 6, top + TITLE_ROW / 2);
		context.fillStyle = themeColor('line');
		context.fillRect(0, top, this.width, 0.5);
		for (let i = 0; i < chart.count; i++) {
			const begin = this.x(chart.from[i]), width = Math.max(1, this.x(chart.until[i]) - begin), depth = chart.depth[i];
			const isFound = marks && marks[chart.key[i]], pixel = Math.floor(begin);
			if (width <= 1 && painted[depth] === pixel)
				continue;
			painted[depth] = pixel;
			const y = top + TITLE_ROW + depth * STACK_ROW;
			if (!this.isSeen(y, STACK_ROW))
				continue;
			const key = width > SPAN_TEXT_MIN ? engine.key(BY.function, chart.key[i]) : null;
			const how = engine.look(chart.stack[i]), color = isFound ? themeColor('found') : categoryColor(engine.categories[how.category]?.color, key ? key.function : '', how.isInlined);
			context.fillStyle = color;
			context.fillRect(begin, y, width - (width > 3 ? 0.75 : 0), STACK_ROW - 1);
			if (chosen?.by === BY.function && chosen.key === chart.key[i]) {
				context.strokeStyle = themeColor('text');
				context.strokeRect(begin + 0.5, y + 0.5, Math.max(0.5, width - 1.5), STACK_ROW - 2);
			}
			if (key) {
				context.fillStyle = textOn(color);
				context.fillText(fitText(context, functionName(key), width - 6), begin + 3, y + STACK_ROW / 2);
			}
		}
	}

	// The function there: the number of its span, and of whose.
	spanAt(x, y) {
		const part = this.parts.findLast(({top}) => y >= top), time = this.time(x);
		if (!part || x < this.left)
			return null;
		const {chart} = part, depth = Math.floor((y - part.top - TITLE_ROW) / STACK_ROW), [from, until] = this.range;
		const pixel = (until - from) / Math.max(1, this.width - this.left);
		let best = null;
		for (let i = 0; i < chart.count; i++) {
			if (chart.depth[i] === depth && chart.from[i] <= time + pixel && Math.max(chart.until[i], chart.from[i] + pixel) >= time && (best === null || chart.from[i] <= time))
				best = i;
		}
		return best === null ? null : {chart, at: best, id: part.id};
	}

	words({chart, at, id}) {
		const {engine} = this.app, key = engine.key(BY.function, chart.key[at]);
		return [functionName(key), `${seconds(chart.until[at] - chart.from[at])} from ${seconds(chart.from[at])}`, engine.threads[id].whole,
			engine.categories[engine.look(chart.stack[at]).category]?.name, [key.module, place(key)].filter(Boolean).join(' · ')];
	}

	hoverAt(x, y) {
		const span = this.spanAt(x, y);
		return span && this.words(span);
	}

	clickAt(x, y) {
		const span = this.spanAt(x, y);
		this.app.choose(span && {by: BY.function, key: span.chart.key[span.at], stack: span.chart.stack[span.at]});
		if (span)
			this.app.say(this.words(span).filter(Boolean).join(' · '));
		this.draw();
	}

	pressName(y) {
		const part = this.parts.findLast(({top}) => y >= top);
		if (part)
			this.app.change({threads: new Set([part.id])});
	}

	// One line a span, outermost first in each thread.
	text() {
		const {engine} = this.app;
		return this.parts.map(({id, chart}) => [engine.threads[id].whole, ...Array.from({length: chart.count}, (_, i) => i)
			.sort((a, b) => chart.from[a] - chart.from[b] || chart.depth[a] - chart.depth[b])
			.map((i) => `${'  '.repeat(chart.depth[i])}${functionName(engine.key(BY.function, chart.key[i]))} ${seconds(chart.from[i])} ${seconds(chart.until[i] - chart.from[i])}`)].join('\n')).join('\n\n');
	}
}
