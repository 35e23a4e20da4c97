// SPDX-License-Identifier: MIT
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Fills a small heap with a cache, so that the collector works more than the program. */
public class Churn {
	static final Map<Integer, List<String>> cache = new HashMap<>();

	static List<String> makeReport(int number) {
		List<String> lines = new ArrayList<>();
		for (int i = 0; i < 2000; i++)
			lines.add("line " + i + " of " + number);
		return lines;
	}

	static void handle(int number) {
		cache.put(number % 300, makeReport(number));
	}

	public static void main(String[] args) {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
		for (int i = 0; System.nanoTime() < end; i++)
			handle(i);
	}
}
