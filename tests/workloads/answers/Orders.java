// SPDX-License-Identifier: MIT
// Orders SECONDS: an HTTP service whose requests wait for each other, in reserveStock().
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URL;
import java.util.concurrent.Executors;

public class Orders {
	private static final Object stock = new Object();

	static void reserveStock() throws InterruptedException {
		synchronized (stock) {
			Thread.sleep(50);
		}
	}

	static void handle(HttpExchange exchange) throws IOException {
		try {
			reserveStock();
		} catch (InterruptedException e) {
			return;
		}
		exchange.sendResponseHeaders(204, -1);
		exchange.close();
	}

	static void order(URL url, long until) {
		try {
			while (System.nanoTime() < until)
				url.openConnection().getInputStream().readAllBytes();
		} catch (IOException e) {
			e.printStackTrace();
		}
	}

	public static void main(String[] arguments) throws Exception {
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
		long until = System.nanoTime() + (long)(Double.parseDouble(arguments[0]) * 1e9);
		Thread[] clients = new Thread[6];

		server.createContext("/", Orders::handle);
		server.setExecutor(Executors.newFixedThreadPool(6));
		server.start();
		URL url = new URL("http://127.0.0.1:" + server.getAddress().getPort() + "/");
		for (int i = 0; i < clients.length; i++) {
			clients[i] = new Thread(() -> order(url, until), "client-" + i);
			clients[i].start();
		}
		for (Thread client : clients)
			client.join();
		System.exit(0);
	}
}
