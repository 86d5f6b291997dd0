// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/**
 * One connection of a load generator, with one check at a time. The connection reads only the
 * status and the length of a response. Not thread-safe.
 */
final class LoadConnection {
  /** The response is not complete yet. */
  static final int NOT_YET = -1;

  /** The connection ended without a response. */
  static final int BROKEN = 0;

  private static final int CLIENTS = 10_000;
  private static final int STATUS_AT = "HTTP/1.1 ".length();
  private static final byte[] HEAD_END = bytes("\r\n\r\n");
  private static final byte[] LENGTH = bytes("Content-Length: ");
  private static final byte[] CLOSE = bytes("Connection: close");

  private final SocketChannel channel = SocketChannel.open();
  private final ByteBuffer in = ByteBuffer.allocate(4_096);
  private long intendedNanos;

  LoadConnection(Selector selector, InetSocketAddress node) throws IOException {
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    channel.configureBlocking(false);
    channel.connect(node);
    channel.register(selector, SelectionKey.OP_READ, this);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  void finishConnecting() throws IOException {
    while (!channel.finishConnect()) {
      Thread.onSpinWait();
    }
  }

  long intendedNanos() {
    return intendedNanos;
  }

  boolean isOpen() {
    return channel.isOpen();
  }

  void send(long number, long newIntendedNanos) throws IOException {
    intendedNanos = newIntendedNanos;
    in.clear();
    String body =
        "{\"client\":\"c" + number * 7919 % CLIENTS + "\",\"endpoint\":\"GET /v1/items\"}";
    ByteBuffer request =
        ByteBuffer.wrap(
            bytes(
                "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                    + body.length()
                    + "\r\n\r\n"
                    + body));
    try {
      // one small packet fits into the empty buffer of the kernel
      channel.write(request);
    } catch (IOException ended) {
      channel.close();
    }
    if (request.hasRemaining()) {
      channel.close();
    }
  }

  /**
   * Reads the available bytes. Returns the status of a complete response, otherwise {@link
   * #NOT_YET}.
   */
  int read() throws IOException {
    try {
      if (channel.read(in) < 0) {
        channel.close();
        return BROKEN;
      }
    } catch (IOException reset) {
      channel.close();
      return BROKEN;
    }
    int head = indexOf(HEAD_END, in.position());
    if (head < 0 || in.position() < head + HEAD_END.length + bodyBytes(head)) {
      return NOT_YET;
    }
    if (indexOf(CLOSE, head) >= 0) {
      channel.close();
    }
    return number(STATUS_AT, STATUS_AT + 3);
  }

  private int bodyBytes(int head) {
    int at = indexOf(LENGTH, head);
    int begin = at + LENGTH.length;
    int end = begin;
    while (in.get(end) != '\r') {
      end++;
    }
    return number(begin, end);
  }

  private int number(int from, int to) {
    int number = 0;
    for (int i = from; i < to; i++) {
      number = 10 * number + in.get(i) - '0';
    }
    return number;
  }

  /**
   * Returns the index of the first occurrence of a byte sequence before the index {@code end}; -1
   * if there is none.
   */
  private int indexOf(byte[] bytes, int end) {
    byte[] text = in.array();
    for (int i = 0; i <= end - bytes.length; i++) {
      int n = 0;
      while (n < bytes.length && text[i + n] == bytes[n]) {
        n++;
      }
      if (n == bytes.length) {
        return i;
      }
    }
    return -1;
  }
}
