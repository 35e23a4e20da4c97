// SPDX-License-Identifier: MIT
// Compares the rows of a page of two sides with prof diff's, and their totals with prof report's.
//     node sides.mjs PROF PAGE DIFF.JSON
import { readFileSync } from 'node:fs';
import { Comparison, amountText, shareText } from '../../lib/format/page/ui/compare.mjs';
import { readBlock } from '../../lib/format/page/ui/blocks.mjs';
import { blockText, openPage } from './page_file.mjs';
import { Report } from './report.mjs';

const [prof, path, wanted] = process.argv.slice(2), report = new Report(prof), said = JSON.parse(readFileSync(wanted, 'utf8'));
const engine = await openPage(path), block = await readBlock('prof-comparison', blockText(readFileSync(path, 'utf8'), 'prof-comparison'));
const comparison = new Comparison(JSON.parse(new TextDecoder().decode(block))), pairs = comparison.pairs(engine);
let different = JSON.stringify(comparison.rows) === JSON.stringify(said.rows) ? 0 : 1;
for (const [side, name] of ['A', 'B'].entries()) {
	const {summary, rows} = JSON.parse(report.run('report', '--thread', `${name}: *`, '--include-idle', '--format', 'json', '--limit', '0', '--min', '0', path));
	said.rows.forEach((row, i) => {
		// Modules that only one side has are not in rows of both.
		const of = rows.find((one) => one.function === row.function && (!row.in || one.module === row.in)), got = pairs[i][side];
		const isEqual = of ? Math.abs(got.total - of.total / summary.weight) < 1e-9 && Math.abs(got.error - of.total_error / summary.weight) < 1e-9 : got === undefined;
		if (!isEqual || Math.abs((got?.self ?? 0) - row[name.toLowerCase()]) > 0.01 || !shareText(row.a).endsWith(' %') || !amountText(comparison, row)) {
			console.log(name, row.function, of, got);
			different++;
		}
	});
}
console.log(`${said.rows.length} rows compared, ${different} different`);
