// SPDX-License-Identifier: MIT
// A page as a file: its blocks, and its engine with the profile.
import { readFileSync } from 'node:fs';
import { dataBlocks, feedBlock, readBlock } from '../../lib/format/page/ui/blocks.mjs';
import { Engine } from '../../lib/format/page/ui/engine.mjs';

export function blockText(html, id) {
	const begin = `<script type="application/octet-stream" id="${id}">`, at = html.indexOf(begin);
	return at < 0 ? '' : html.slice(at + begin.length, html.indexOf('<', at + begin.length));
}

export async function openPage(path) {
	const html = readFileSync(path, 'utf8');
	const engine = await Engine.start(await readBlock('prof-engine', blockText(html, 'prof-engine')));
	for (const id of dataBlocks((name) => blockText(html, name)))
		await feedBlock(id, blockText(html, id), engine);
	engine.open();
	return engine;
}
