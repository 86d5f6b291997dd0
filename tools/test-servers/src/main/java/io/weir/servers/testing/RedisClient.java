// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Sends single commands to a redis-server. Each command uses a new connection with RESP 2, so this
 * class is unsuitable for measurements.
 */
final class RedisClient {
  private static final int TIMEOUT_MILLIS = 60_000;

  private RedisClient() {}

  /**
   * Sends a command and returns the reply: a string, a {@link Long}, a list of replies, or null.
   *
   * @throws IOException if the server does not reply, or replies with an error
   */
  static @Nullable Object call(int port, String... command) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(TIMEOUT_MILLIS);
      send(socket.getOutputStream(), command);
      return read(new BufferedInputStream(socket.getInputStream()));
    }
  }

  /** Authenticates as the default user with the given password, and then sends a command. */
  static @Nullable Object authenticated(int port, String password, String... command)
      throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(TIMEOUT_MILLIS);
      InputStream in = new BufferedInputStream(socket.getInputStream());
      send(socket.getOutputStream(), "AUTH", password);
      Object unused = read(in);
      send(socket.getOutputStream(), command);
      return read(in);
    }
  }

  private static void send(OutputStream to, String... command) throws IOException {
    OutputStream out = new BufferedOutputStream(to);
    write(out, "*" + command.length);
    for (String word : command) {
      write(out, "$" + word.getBytes(StandardCharsets.UTF_8).length);
      write(out, word);
    }
    out.flush();
  }

  private static void write(OutputStream out, String line) throws IOException {
    out.write((line + "\r\n").getBytes(StandardCharsets.UTF_8));
  }

  private static @Nullable Object read(InputStream in) throws IOException {
    String line = line(in);
    String rest = line.substring(1);
    return switch (line.charAt(0)) {
      case '+' -> rest;
      case ':' -> Long.valueOf(rest);
      case '$' -> bulk(in, Integer.parseInt(rest));
      case '*' -> array(in, Integer.parseInt(rest));
      default -> throw new IOException(line);
    };
  }

  private static @Nullable String bulk(InputStream in, int length) throws IOException {
    if (length < 0) {
      return null;
    }
    byte[] bytes = in.readNBytes(length + 2);
    if (bytes.length < length + 2) {
      throw new EOFException("the reply ends early");
    }
    return new String(bytes, 0, length, StandardCharsets.UTF_8);
  }

  private static List<@Nullable Object> array(InputStream in, int length) throws IOException {
    List<@Nullable Object> replies = new ArrayList<>();
    for (int i = 0; i < length; i++) {
      replies.add(read(in));
    }
    return replies;
  }

  private static String line(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder();
    int read = in.read();
    while (read != '\r') {
      if (read < 0) {
        throw new EOFException("the server closed the connection");
      }
      line.append((char) read);
      read = in.read();
    }
    int unused = in.read();
    return line.toString();
  }
}
