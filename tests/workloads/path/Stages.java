/* SPDX-License-Identifier: MIT */
/* Stages ITEMS ROUNDS: images pass three stages, each an executor of its own; the second is slow. */
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Stages {
	static volatile long sink;

	static void work(int rounds) {
		long x = 88172645463325252L;
		for (int i = 0; i < rounds; i++) {
			x ^= x << 13;
			x ^= x >>> 7;
			x ^= x << 17;
		}
		sink = x;
	}

	static void decode(int rounds) {
		for (int i = 0; i < 100; i++)
			work(rounds / 400);
	}

	static void resize(int rounds) {
		for (int i = 0; i < 100; i++)
			work(rounds / 100);
	}

	static void encode(int rounds) {
		for (int i = 0; i < 100; i++)
			work(rounds / 300);
	}

	static ExecutorService stage(String name) {
		return Executors.newSingleThreadExecutor(task -> new Thread(task, name));
	}

	public static void main(String[] args) throws Exception {
		int items = Integer.parseInt(args[0]), rounds = Integer.parseInt(args[1]);
		int usual = 2000000;
		ExecutorService first = stage("decoder"), second = stage("resizer"), third = stage("encoder");
		List<Future<?>> done = new ArrayList<>();

		for (int i = 0; i < items; i++) {
			Future<?> decoded = first.submit(() -> decode(usual));
			Future<?> resized = second.submit(() -> {
				decoded.get();
				resize(rounds);
				return null;
			});
			done.add(third.submit(() -> {
				resized.get();
				encode(usual);
				return null;
			}));
		}
		for (Future<?> each : done)
			each.get();
		first.shutdown();
		second.shutdown();
		third.shutdown();
	}
}
