// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.Test;

/** Both ways to get a server behave alike; which way is run, the build's profile says. */
final class TestServersIT {
  private static final String PONG = "+PONG";

  @Test
  void redis_killedAndRestarted_answersAtTheSameAddress() throws Exception {
    try (TestRedis redis = TestRedis.start()) {
      String uri = redis.uri();
      assertEquals(PONG, ping(uri));

      redis.kill();
      assertThrows(IOException.class, () -> ping(uri));

      redis.restart();
      assertEquals(uri, redis.uri());
      assertEquals(PONG, pingUntilUp(uri));
    }
  }

  @Test
  void redis_paused_doesNotAnswerUntilResumed() throws Exception {
    try (TestRedis redis = TestRedis.start()) {
      redis.pause();
      assertThrows(SocketTimeoutException.class, () -> ping(redis.uri()));

      redis.resume();
      assertEquals(PONG, ping(redis.uri()));
    }
  }

  @Test
  void kafka_stoppedAndRestarted_keepsItsTopicsAndAddress() throws Exception {
    try (TestKafka kafka = TestKafka.start()) {
      String address = kafka.bootstrapServers();
      try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
        admin.createTopics(List.of(new NewTopic("kept", 1, (short) 1))).all().get();
      }

      kafka.stop();
      kafka.restart();

      try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
        assertEquals(Set.of("kept"), admin.listTopics().names().get());
      }
    }
  }

  private static String pingUntilUp(String uri) throws IOException {
    long deadline = System.nanoTime() + 20_000_000_000L;
    while (true) {
      try {
        String answer = ping(uri);
        if (answer.equals(PONG) || System.nanoTime() > deadline) {
          return answer;
        }
      } catch (IOException notUp) {
        if (System.nanoTime() > deadline) {
          throw notUp;
        }
      }
    }
  }

  private static String ping(String uri) throws IOException {
    URI address = URI.create(uri);
    try (Socket socket = new Socket(address.getHost(), address.getPort())) {
      socket.setSoTimeout(500);
      socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
      byte[] answer = socket.getInputStream().readNBytes(7);
      if (answer.length < 7) {
        throw new IOException("the server closed the connection");
      }
      return new String(answer, StandardCharsets.US_ASCII).strip();
    }
  }
}
