// SPDX-License-Identifier: MIT
// Data in the page: gzip as base64, in elements that no browser runs.

function decodeBase64(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	// A multiple of 4, so that each part is complete.
	const step = 1 << 20, parts = [];
	for (let at = 0; at < text.length; at += step)
		parts.push(Uint8Array.from(atob(text.slice(at, at + step)), (c) => c.charCodeAt(0)));
	const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
	let size = 0;
	for (const part of parts) {
		all.set(part, size);
		size += part.length;
	}
	return all;
}

async function unpack(bytes) {
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

export const DATA_BLOCKS = ['prof-meta', 'prof-tables', 'prof-samples', 'prof-markers', 'prof-texts'];

// Unpacks the text of a block. Browsers have many words for damage; there is one here.
export async function readBlock(id, text) {
	try {
		return await unpack(decodeBase64(text.trim()));
	} catch {
		throw new Error(`the data are damaged: block ${id}`);
	}
}
