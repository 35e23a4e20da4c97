// SPDX-License-Identifier: MIT
// Data in the page: gzip as base64, in elements that no browser runs.

function decodeBase64(text) {
	return Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

async function unpack(bytes) {
	const stream = new DecompressionStream('gzip'), writer = stream.writable.getWriter();
	writer.write(bytes).catch(() => {});
	writer.close().catch(() => {});
	return new Uint8Array(await new Response(stream.readable).arrayBuffer());
}

// The ids of the profile's blocks, in order. Samples have as many as they need.
export function dataBlocks(isThere) {
	const samples = ['prof-samples'];
	while (isThere(`prof-samples-${samples.length + 1}`))
		samples.push(`prof-samples-${samples.length + 1}`);
	return ['prof-meta', 'prof-tables', ...samples, 'prof-markers', 'prof-texts'];
}

// Unpacks the text of a block. Browsers have many words for damage; there is one here.
export async function readBlock(id, text) {
	try {
		return await unpack(decodeBase64(text.trim()));
	} catch {
		throw new Error(`the data are damaged: block ${id}`);
	}
}
