// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.testing.Await;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** A connection on which a test sends any bytes, and reads answers. */
final class RawHttp implements AutoCloseable {
  private final Socket socket;
  private final InputStream in;

  /** An answer; names of header fields are in lower case. */
  record Answer(int status, Map<String, String> headers, String body) {}

  private RawHttp(Socket socket) throws IOException {
    this.socket = socket;
    this.in = new BufferedInputStream(socket.getInputStream());
  }

  static RawHttp connect(int port) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setSoTimeout((int) Await.TIMEOUT.toMillis());
    socket.setTcpNoDelay(true);
    return new RawHttp(socket);
  }

  RawHttp send(String bytes) throws IOException {
    socket.getOutputStream().write(bytes.getBytes(StandardCharsets.ISO_8859_1));
    return this;
  }

  /** Says that nothing more will be sent. */
  RawHttp finish() throws IOException {
    socket.shutdownOutput();
    return this;
  }

  Answer answer() throws IOException {
    String status = line();
    if (!status.startsWith("HTTP/1.1 ")) {
      throw new IOException("no status line but '" + status + "'");
    }
    Map<String, String> headers = new HashMap<>();
    for (String line = line(); !line.isEmpty(); line = line()) {
      int colon = line.indexOf(':');
      headers.put(
          line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).trim());
    }
    int length = Integer.parseInt(headers.getOrDefault("content-length", "0"));
    String body = new String(in.readNBytes(length), StandardCharsets.UTF_8);
    return new Answer(Integer.parseInt(status.substring(9, 12)), headers, body);
  }

  /** Waits for the first byte of an answer, and leaves it to be read; false if there is none. */
  boolean hasAnswer() throws IOException {
    in.mark(1);
    boolean hasByte = in.read() >= 0;
    in.reset();
    return hasByte;
  }

  /** Returns whether the peer ends the connection without a further byte. */
  boolean ends() {
    try {
      return in.read() < 0;
    } catch (IOException reset) {
      return true;
    }
  }

  private String line() throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int b = in.read(); b != '\n'; b = in.read()) {
      if (b < 0) {
        throw new IOException("the connection ended after '" + line + "'");
      }
      if (b != '\r') {
        line.write(b);
      }
    }
    return line.toString(StandardCharsets.ISO_8859_1);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
