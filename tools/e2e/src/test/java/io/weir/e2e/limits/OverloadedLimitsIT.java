// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.e2e.WeirProcess;
import io.weir.servers.Ports;
import io.weir.testing.FullSuite;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Overload does not switch limits off (issue 12, item 14): 512 connections call one bucket of 100
 * tokens while six busy loops take the processors from {@code weir up}, with every setting at its
 * default. Whatever a call is answered, exactly 100 pass.
 */
@FullSuite(
    reason =
        "half a minute of six busy loops; BusyProcessIT, which always runs, holds the thread that"
            + " reads from Redis")
final class OverloadedLimitsIT {
  private static final int CONNECTIONS = 512;
  private static final int BUSY_LOOPS = 6;
  private static final int CAPACITY = 100;

  /** Each sends one call over each connection: 512 calls are under way at once. */
  private static final int ROUNDS = 30;

  private static final String BODY = "{\"client\":\"acme\",\"endpoint\":\"GET /v1/items\"}";
  private static final byte[] CALL =
      ("POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
              + BODY.length()
              + "\r\n\r\n"
              + BODY)
          .getBytes(StandardCharsets.ISO_8859_1);

  @TempDir private Path folder;

  /** Answers by status and, where they tell it, by who decided. */
  private final Map<String, Integer> answers = new TreeMap<>();

  @Test
  void up_processorsTakenByOthers_admitsExactlyTheCapacity() throws Exception {
    int port = Ports.free();
    List<Process> busyLoops = new ArrayList<>();
    List<Socket> connections = new ArrayList<>();
    try (WeirProcess weir = WeirProcess.start(folder, environment(port), "up")) {
      weir.awaitLine("weir is ready");
      for (int i = 0; i < BUSY_LOOPS; i++) {
        busyLoops.add(new ProcessBuilder("sh", "-c", "while :; do :; done").start());
      }
      for (int i = 0; i < CONNECTIONS; i++) {
        connections.add(new Socket(InetAddress.getLoopbackAddress(), port));
      }
      for (int round = 0; round < ROUNDS; round++) {
        callOnEach(connections);
      }
      System.out.println("overloaded node: " + answers);
      assertEquals(CAPACITY, passed(), () -> "calls that passed, of " + answers);
      assertTrue(weir.isAlive(), weir::errors);
    } finally {
      for (Process busyLoop : busyLoops) {
        busyLoop.destroyForcibly();
      }
      for (Socket connection : connections) {
        connection.close();
      }
    }
  }

  private Map<String, String> environment(int port) throws IOException {
    Path policies =
        Files.writeString(
            folder.resolve("policies.yml"),
            """
            policies:
              - name: hourly
                limit: {algorithm: token-bucket, capacity: 100, refill_tokens: 1, refill_period: PT1H}
            """);
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_DATA", folder.resolve("data").toString());
    environment.put("WEIR_POLICIES", policies.toString());
    environment.put("WEIR_HTTP_PORT", Integer.toString(port));
    environment.put("WEIR_REPORTS_PORT", Integer.toString(Ports.free()));
    environment.put("WEIR_KAFKA_PORT", Integer.toString(Ports.free()));
    environment.put("WEIR_REDIS_PORT", Integer.toString(Ports.free()));
    return environment;
  }

  private int passed() {
    return answers.entrySet().stream()
        .filter(answer -> answer.getKey().startsWith("200"))
        .mapToInt(Map.Entry::getValue)
        .sum();
  }

  private void callOnEach(List<Socket> connections) throws IOException {
    for (Socket connection : connections) {
      connection.getOutputStream().write(CALL);
    }
    for (Socket connection : connections) {
      answers.merge(
          readAnswer(new BufferedInputStream(connection.getInputStream())), 1, Integer::sum);
    }
  }

  /** The status and who decided; nothing of the next answer has been asked for, so none is read. */
  private static String readAnswer(InputStream in) throws IOException {
    String status = readLine(in).substring(9, 12);
    int length = 0;
    for (String line = readLine(in); !line.isEmpty(); line = readLine(in)) {
      if (line.regionMatches(true, 0, "Content-Length:", 0, 15)) {
        length = Integer.parseInt(line.substring(15).strip());
      }
    }
    String body = new String(in.readNBytes(length), StandardCharsets.UTF_8);
    int decidedBy = body.indexOf("\"decided_by\":\"");
    return decidedBy < 0
        ? status
        : status + " " + body.substring(decidedBy + 14, body.indexOf('"', decidedBy + 14));
  }

  private static String readLine(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int next = in.read(); next != '\n'; next = in.read()) {
      if (next < 0) {
        throw new IOException("the connection ended within '" + line + "'");
      }
      if (next != '\r') {
        line.append((char) next);
      }
    }
    return line.toString();
  }
}
