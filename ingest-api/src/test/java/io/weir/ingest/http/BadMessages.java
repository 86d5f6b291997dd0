// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.util.ArrayList;
import java.util.List;

/**
 * Messages that are not HTTP, or that two readers could read in two ways, so that one of them sees
 * a second request in the body of the first (request smuggling). None may be answered as a check,
 * nor may what they hide. A character is a byte.
 */
final class BadMessages {
  /**
   * The hidden message of a request-smuggling attempt; it is recorded if a node reads it as a
   * request.
   */
  private static final String HIDDEN_BODY = "{\"client\":\"smuggled\"}";

  private static final String HIDDEN =
      "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
          + HIDDEN_BODY.length()
          + "\r\n\r\n"
          + HIDDEN_BODY;

  private static final String BODY = "{\"client\":\"a\"}";
  private static final String CHECK = "POST /v1/check HTTP/1.1\r\nHost: localhost\r\n";

  private BadMessages() {}

  static List<String> all() {
    List<String> messages = new ArrayList<>();
    for (String line : startLines()) {
      messages.add(
          line + "\r\nHost: localhost\r\nContent-Length: " + BODY.length() + "\r\n\r\n" + BODY);
    }
    for (String field : fields()) {
      messages.add(CHECK + field + "\r\n\r\n" + BODY);
    }
    for (String field : lengths()) {
      messages.add(CHECK + field + "\r\n\r\n0\r\n\r\n" + HIDDEN);
    }
    for (String chunks : chunks()) {
      messages.add(CHECK + "Transfer-Encoding: chunked\r\n\r\n" + chunks + HIDDEN);
    }
    messages.add("POST /v1/check HTTP/1.1\r\nContent-Length: 14\r\n\r\n" + BODY);
    messages.add("GARBAGE\r\n\r\n");
    messages.add("\0\0\0\0\r\n\r\n");
    messages.add("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    // the beginning of a TLS handshake, and of a Redis command
    messages.add("\u0016\u0003\u0001\u0002\0\u0001\0\u0001\u00fc\u0003\u0003" + "x".repeat(200));
    messages.add("*1\r\n$4\r\nPING\r\n");
    messages.add("<?xml version=\"1.0\"?>\r\n\r\n");
    messages.add(CHECK + "X: " + "y".repeat(20_000) + "\r\n\r\n");
    messages.add(CHECK + "x: y\r\n".repeat(4_000) + "\r\n");
    messages.add(CHECK + "x".repeat(20_000) + ": y\r\n\r\n");
    return messages;
  }

  private static List<String> startLines() {
    return List.of(
        "POST /v1/check HTTP/3.7",
        "POST /v1/check HTTP/0.9",
        "POST /v1/check HTTP/1.1 HTTP/1.1",
        "POST /v1/check FTP/1.1",
        "POST  HTTP/1.1",
        "POST",
        " POST /v1/check HTTP/1.1",
        "PO ST /v1/check HTTP/1.1",
        "PO\0ST /v1/check HTTP/1.1",
        "P(ST /v1/check HTTP/1.1",
        "POST /v1/ch\0eck HTTP/1.1",
        "POST /v1/check%00 HTTP/1.1",
        "POST /v1/%zz HTTP/1.1",
        "POST /v1/%2e%2e/v1/check HTTP/1.1",
        "POST /../v1/check HTTP/1.1",
        "POST /v1/..;/v1/check HTTP/1.1",
        "POST /v1%2fcheck HTTP/1.1",
        "POST //v1/check HTTP/1.1",
        "POST /V1/CHECK HTTP/1.1",
        "POST /v1/check;x=1 HTTP/1.1",
        "POST /v1\\check HTTP/1.1",
        "POST /v1/check?peek=maybe HTTP/1.1",
        "POST /v1/check?peek=true&peek=1 HTTP/1.1",
        "POST /v1/check?peek=true&peek=false HTTP/1.1",
        "POST /v1/check?x=1 HTTP/1.1",
        "POST /v1/check?%00 HTTP/1.1",
        "POST /v1/check?peek=%ff HTTP/1.1",
        "POST * HTTP/1.1",
        "CONNECT weir:443 HTTP/1.1",
        "TRACE /v1/check HTTP/1.1",
        "BREW /v1/check HTTP/1.1",
        "GET /v1/check HTTP/1.1",
        "post /v1/check HTTP/1.1",
        "POST /" + "y".repeat(20_000) + " HTTP/1.1");
  }

  private static List<String> fields() {
    String length = "Content-Length: " + BODY.length();
    return List.of(
        "Host: other\r\n" + length,
        "Bad Field: x\r\n" + length,
        "Bad\0Field: x\r\n" + length,
        ": x\r\n" + length,
        "NoColon\r\n" + length,
        "X: a\0b\r\n" + length,
        " X: begins with a space\r\n" + length,
        "X: folded\r\n over two lines\r\n" + length,
        "Content-Length : " + BODY.length(),
        "Content-Length: +" + BODY.length(),
        "Content-Length: -1",
        "Content-Length: 0x0e",
        "Content-Length: 14, 15",
        "Content-Length: 14\r\nContent-Length: 15",
        "Content-Length: 99999999999999999999",
        "Content-Length: many",
        "Content-Length: 1 4",
        "Content-Length: 14.0",
        "Content-Length:",
        "Content-Length: 1000",
        "Content-Length: 5",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked, gzip",
        "Expect: a-miracle\r\n" + length);
  }

  /** Two different body lengths: a receiver that trusts the other one sees the hidden request. */
  private static List<String> lengths() {
    return List.of(
        "Content-Length: 4\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 4",
        "Content-Length: 4\r\nTransfer-Encoding: identity, chunked",
        "Content-Length: 4\r\nTransfer-Encoding: xchunked",
        "Content-Length: 4\r\nTransfer-Encoding : chunked",
        "Content-Length: 4\r\nTransfer-Encoding:\u000bchunked",
        "Content-Length: 4\r\n Transfer-Encoding: chunked",
        "Content-Length: 4\r\nX: x\r\n\tTransfer-Encoding: chunked",
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x",
        "Content-Length: 4\r\nTransfer-Encoding: \"chunked\"",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: identity, chunked",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
        "Content-Length: 4\r\nTRANSFER-ENCODING: CHUNKED",
        "Content-Length: 4\r\nContent-Length: 5",
        "Content-Length: 4\r\nContent-Length: 0");
  }

  private static List<String> chunks() {
    return List.of(
        "FFFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n",
        "-1\r\n{}\r\n0\r\n\r\n",
        "+2\r\n{}\r\n0\r\n\r\n",
        "0x2\r\n{}\r\n0\r\n\r\n",
        "xyz\r\n{}\r\n0\r\n\r\n",
        "\r\n{}\r\n0\r\n\r\n",
        "2 {}\r\n0\r\n\r\n",
        "1\r\n{}\r\n0\r\n\r\n",
        "3\r\n{}\r\n0\r\n\r\n",
        "7fffffff\r\n{}\r\n0\r\n\r\n",
        "80000000\r\n{}\r\n0\r\n\r\n");
  }
}
