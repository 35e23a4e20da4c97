// SPDX-License-Identifier: MIT
// The context menu, opened at the pointer by the right button or the menu key.
import {make} from './dom.mjs';

export class Menu {
	constructor() {
		this.element = make('div', {id: 'menu', role: 'menu', popover: 'auto', 'aria-label': 'Actions', keydown: (event) => this.key(event)});
	}

	// Rows are [text, key, action]; null: a line between them.
	open(x, y, rows) {
		const {element} = this;
		this.before = document.activeElement;
		element.replaceChildren(...rows.filter((row) => row !== false).map((row) => row === null ? make('hr', {}) : make('button', {type: 'button', role: 'menuitem', tabindex: -1,
			click: () => { this.close(); row[2](); }}, row[0], row[1] ? make('kbd', {'aria-hidden': 'true'}, row[1]) : null)));
		element.showPopover();
		element.style.left = `${Math.max(2, Math.min(x, window.innerWidth - element.offsetWidth - 4))}px`;
		element.style.top = `${Math.max(2, Math.min(y, window.innerHeight - element.offsetHeight - 4))}px`;
		element.querySelector('button')?.focus();
	}

	close() {
		this.element.hidePopover();
		this.before?.focus();
	}

	key(event) {
		const items = [...this.element.querySelectorAll('button')], at = items.indexOf(document.activeElement), {length} = items;
		const to = {ArrowDown: (at + 1) % length, ArrowUp: (at - 1 + length) % length, Home: 0, End: length - 1}[event.key];
		event.stopPropagation();
		if (to !== undefined)
			items[to].focus();
		else if (event.key === 'Escape' || event.key === 'Tab')
			this.close();
		else
			return;
		event.preventDefault();
	}
}
