// SPDX-License-Identifier: MIT
// A table or tree of rows, of which only those that are seen are elements. The keyboard moves as in
// all treegrids: arrows, Home, End, pages; right and left open and close.
import {make} from './dom.mjs';

const GRID_ROW = 24;
// Aliases of the arrow keys, as in vi.
export const LETTERS = {h: 'ArrowLeft', j: 'ArrowDown', k: 'ArrowUp', l: 'ArrowRight'};
let lastGrid = 0;

export class Grid {
	// Columns have name, title, width, isNumber and fill(cell, row); the source has count, row(i),
	// and for trees depth(row), isOpen(row), hasChildren(row) and toggle(row).
	constructor(name, columns, {isTree = false, sort = null, choose = () => {}, enter = () => {}, menu = null} = {}) {
		Object.assign(this, {name, columns, isTree, sort, choose, enter, at: 0, source: {count: 0}});
		this.id = `grid${++lastGrid}`;
		this.head = make('div', {class: 'row head', role: 'row'}, ...columns.map((column, i) => this.headCell(column, i)));
		this.body = make('div', {class: 'rows', role: 'rowgroup'});
		this.element = make('div', {class: 'grid', role: isTree ? 'treegrid' : 'grid', tabindex: 0, 'aria-label': name,
			keydown: (event) => this.key(event), pointerdown: (event) => this.click(event), dblclick: () => this.enter(this.row),
			scroll: () => this.draw()}, make('div', {role: 'rowgroup', class: 'heads'}, this.head), this.body);
		if (menu)
			this.element.addEventListener('contextmenu', (event) => this.openMenu(event, menu));
		this.element.style.setProperty('--columns', columns.map((column) => column.width).join(' '));
	}

	headCell(column, i) {
		const sorts = this.sort && column.sorts;
		return make('div', {role: 'columnheader', class: column.isNumber ? 'number' : '', title: column.hint ?? null,
			click: sorts ? () => this.sort(i) : null}, sorts ? make('button', {type: 'button', tabindex: -1}, column.title) : column.title);
	}

	show(source, {at = 0, top = 0} = {}) {
		this.source = source;
		this.at = Math.max(0, Math.min(at, source.count - 1));
		this.element.setAttribute('aria-rowcount', source.count + 1);
		this.body.style.height = `${source.count * GRID_ROW}px`;
		this.element.scrollTop = top;
		this.draw();
	}

	// Height of the visible rows, without the head.
	get height() {
		return Math.max(GRID_ROW, this.element.clientHeight - GRID_ROW);
	}

	// True if the row is seen where the table begins.
	isSeen(at) {
		return at * GRID_ROW < this.height;
	}

	get row() {
		return this.source.count ? this.source.row(this.at) : null;
	}

	draw() {
		const {source} = this, first = Math.max(0, Math.floor(this.element.scrollTop / GRID_ROW) - 3);
		const last = Math.min(source.count, first + Math.ceil(this.height / GRID_ROW) + 6);
		const rows = [];
		for (let i = first; i < last; i++)
			rows.push(this.makeRow(i));
		if (!source.count)
			rows.push(make('div', {role: 'row', class: 'none'}, make('div', {role: 'gridcell'}, source.none ?? 'There is nothing to show.')));
		this.body.replaceChildren(...rows);
		if (source.count)
			this.element.setAttribute('aria-activedescendant', `${this.id}-${this.at}`);
	}

	// The rows stay as they are, so that a second click finds what the first one did.
	mark() {
		for (const row of this.body.children)
			row.setAttribute('aria-selected', String(Number(row.dataset.row) === this.at));
		this.element.setAttribute('aria-activedescendant', `${this.id}-${this.at}`);
	}

	makeRow(i) {
		const {source, isTree} = this, row = source.row(i), hasChildren = isTree && source.hasChildren(row);
		const element = make('div', {role: 'row', class: 'row', id: `${this.id}-${i}`, 'data-row': i, 'aria-rowindex': i + 2,
			'aria-selected': String(i === this.at), 'aria-level': isTree ? source.depth(row) + 1 : null,
			'aria-expanded': hasChildren ? String(source.isOpen(row)) : null});
		element.style.transform = `translateY(${i * GRID_ROW}px)`;
		for (const column of this.columns) {
			const cell = make('div', {role: 'gridcell', class: column.isNumber ? 'number' : ''});
			if (isTree && column.isTree) {
				cell.style.paddingLeft = `${Math.min(source.depth(row), 60) * (window.innerWidth < 640 ? 4 : 12) + 4}px`;
				cell.append(make('span', {class: 'twist', 'aria-hidden': 'true'}, hasChildren ? (source.isOpen(row) ? '▾' : '▸') : ''));
			}
			column.fill(cell, row, i);
			element.append(cell);
		}
		if (source.isFound && source.isFound(row))
			element.classList.add('found');
		return element;
	}

	move(to) {
		if (!this.source.count)
			return;
		this.at = Math.max(0, Math.min(to, this.source.count - 1));
		const top = this.at * GRID_ROW, {scrollTop} = this.element;
		if (top < scrollTop)
			this.element.scrollTop = top;
		else if (top + GRID_ROW > scrollTop + this.height)
			this.element.scrollTop = top + GRID_ROW - this.height;
		if (this.element.scrollTop === scrollTop)
			this.mark();
		else
			this.draw();
		this.choose(this.row);
	}

	toggle(i) {
		if (!this.isTree || !this.source.count)
			return;
		const row = this.source.row(i);
		if (!this.source.hasChildren(row))
			return;
		this.source.toggle(row, i);
		this.show(this.source, {at: i, top: this.element.scrollTop});
	}

	openMenu(event, menu) {
		const row = event.target.closest('[data-row]');
		event.preventDefault();
		if (row)
			this.move(Number(row.dataset.row));
		menu(event);
	}

	click(event) {
		const element = event.target.closest('[data-row]');
		if (!element || event.button)
			return;
		const i = Number(element.dataset.row);
		if (event.target.classList.contains('twist'))
			this.toggle(i);
		this.move(i);
		this.element.focus({preventScroll: true});
	}

	parentOf(i) {
		const {source} = this, depth = source.depth(source.row(i));
		for (let k = i - 1; k >= 0; k--) {
			if (source.depth(source.row(k)) < depth)
				return k;
		}
		return i;
	}

	right() {
		const {source} = this, row = this.row;
		if (!source.hasChildren(row))
			return;
		if (source.isOpen(row))
			this.move(this.at + 1);
		else
			this.toggle(this.at);
	}

	left() {
		if (this.source.hasChildren(this.row) && this.source.isOpen(this.row))
			this.toggle(this.at);
		else
			this.move(this.parentOf(this.at));
	}

	key(event) {
		const page = Math.max(1, Math.floor(this.height / GRID_ROW) - 1);
		const action = {
			ArrowDown: () => this.move(this.at + 1), ArrowUp: () => this.move(this.at - 1),
			PageDown: () => this.move(this.at + page), PageUp: () => this.move(this.at - page),
			Home: () => this.move(0), End: () => this.move(this.source.count - 1),
			Enter: () => this.enter(this.row),
			ArrowRight: this.isTree && this.row ? () => this.right() : null,
			ArrowLeft: this.isTree && this.row ? () => this.left() : null,
		}[LETTERS[event.key] ?? event.key];
		if (!action || event.ctrlKey || event.altKey || event.metaKey)
			return;
		event.preventDefault();
		event.stopPropagation();
		action();
	}

	nextFound(step) {
		const {source} = this;
		for (let i = 1; source.isFound && i <= source.count; i++) {
			const at = (this.at + step * i + source.count * 2) % source.count;
			if (source.isFound(source.row(at))) {
				this.move(at);
				return;
			}
		}
	}
}
