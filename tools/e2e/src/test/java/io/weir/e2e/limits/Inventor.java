// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.limits;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;

/** Checks over one connection, several at once, each of a new endpoint with a new id. */
final class Inventor {
  static final int THREADS = 4;
  private static final int AT_ONCE = 50;
  private static final int PATIENCE_MILLIS = 120_000;

  private final CompletableFuture<Void> done;

  private Inventor(CompletableFuture<Void> done) {
    this.done = done;
  }

  /** Begins so many checks; {@code number} makes their names different from another inventor's. */
  static Inventor start(int port, int number, int checks) {
    CompletableFuture<Void> done = new CompletableFuture<>();
    new Thread(
            () -> {
              try {
                invent(port, number, checks);
                done.complete(null);
              } catch (IOException | RuntimeException failed) {
                done.completeExceptionally(failed);
              }
            },
            "inventor-" + number)
        .start();
    return new Inventor(done);
  }

  /** Waits until all are answered 200. */
  void join() {
    done.join();
  }

  private static void invent(int port, int number, int checks) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(PATIENCE_MILLIS);
      InputStream in = new BufferedInputStream(socket.getInputStream());
      for (int i = 0; i < checks; i += AT_ONCE) {
        StringBuilder requests = new StringBuilder();
        for (int n = 0; n < AT_ONCE; n++) {
          String name = number + "-" + (i + n);
          String body =
              "{\"client\":\"inventor\",\"endpoint\":\"GET /"
                  + name
                  + "\",\"id\":\""
                  + name
                  + "\"}";
          requests
              .append("POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: ")
              .append(body.length())
              .append("\r\n\r\n")
              .append(body);
        }
        socket.getOutputStream().write(requests.toString().getBytes(StandardCharsets.UTF_8));
        for (int n = 0; n < AT_ONCE; n++) {
          answer(in);
        }
      }
    }
  }

  private static void answer(InputStream in) throws IOException {
    String status = line(in);
    int length = 0;
    for (String line = line(in); !line.isEmpty(); line = line(in)) {
      if (line.startsWith("Content-Length: ")) {
        length = Integer.parseInt(line.substring("Content-Length: ".length()));
      }
    }
    String body = new String(in.readNBytes(length), StandardCharsets.UTF_8);
    if (!status.equals("HTTP/1.1 200 OK")) {
      throw new IOException(status + ": " + body);
    }
  }

  private static String line(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int b = in.read(); b != '\n'; b = in.read()) {
      if (b < 0) {
        throw new IOException("the connection ended after '" + line + "'");
      }
      if (b != '\r') {
        line.append((char) b);
      }
    }
    return line.toString();
  }
}
