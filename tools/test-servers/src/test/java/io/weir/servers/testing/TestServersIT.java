// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.junit.jupiter.api.Test;

/** Both ways to get a server behave alike; which way is run, the build's profile says. */
final class TestServersIT {
  private static final String PONG = "+PONG";

  /** A server that is paused answers never; one that is not, but slow, must not pass for it. */
  private static final Duration SILENCE = Duration.ofMillis(500);

  private static final String NEW_PROTOCOL = "group.protocol";
  private static final String CONSUMER = "consumer";
  private static final String SCRIPT = "return";
  private static final String SCRIPT_SHA1 = "63143b6f8007b98c53ca2149822777b3566f9241";

  @Test
  void redis_killedAndRestarted_answersAtTheSameAddress() throws Exception {
    try (TestRedis redis = TestRedis.start()) {
      String uri = redis.uri();
      assertEquals(PONG, ping(uri));

      redis.kill();
      assertThrows(IOException.class, () -> ping(uri));

      redis.restart();
      assertEquals(uri, redis.uri());
      awaitPong(uri);
    }
  }

  @Test
  void redis_paused_doesNotAnswerUntilResumed() throws Exception {
    try (TestRedis redis = TestRedis.start()) {
      redis.pause();
      try (Connection connection = new Connection(redis.uri(), SILENCE)) {
        assertThrows(SocketTimeoutException.class, () -> connection.ask("PING"));
      }

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

  @Test
  void kafka_borrowedTwice_isRefusedUntilItIsGivenBack() {
    try (TestKafka kafka = TestKafka.borrow()) {
      assertThrows(IllegalStateException.class, TestKafka::borrow);
      assertThrows(IllegalStateException.class, kafka::stop);
      assertThrows(IllegalStateException.class, kafka::restart);
    }

    TestKafka.borrow().close();
  }

  /** The controller says that a topic is there before the broker lists it: it was left over. */
  @Test
  void kafka_topicCreatedJustBeforeItIsGivenBack_isGone() throws Exception {
    for (int round = 0; round < 20; round++) {
      try (TestKafka kafka = TestKafka.borrow();
          Admin admin = admin(kafka)) {
        assertEquals(Set.of(), admin.listTopics().names().get());
        admin.createTopics(List.of(new NewTopic("late", 50, (short) 1))).all().get();
      }
    }
  }

  @Test
  void kafka_borrowedAgain_hasNoTopicsAndNoGroups() throws Exception {
    String address;
    try (TestKafka kafka = TestKafka.borrow()) {
      address = kafka.bootstrapServers();
      try (Admin admin = admin(kafka)) {
        admin.createTopics(List.of(new NewTopic("left", 2, (short) 1))).all().get();
        leaveAMember(kafka, "plain", Map.of());
        leaveAMember(kafka, "static", Map.of("group.instance.id", "stays"));
        leaveAMember(
            kafka, "static-new", Map.of("group.instance.id", "stays", NEW_PROTOCOL, CONSUMER));
        assertEquals(Set.of("plain", "static", "static-new"), groups(admin));
      }
    }

    try (TestKafka kafka = TestKafka.borrow();
        Admin admin = admin(kafka)) {
      assertEquals(address, kafka.bootstrapServers());
      assertEquals(Set.of(), admin.listTopics().names().get());
      assertEquals(Set.of(), groups(admin));
      admin.createTopics(List.of(new NewTopic("left", 1, (short) 1))).all().get();
      leaveAMember(kafka, "static", Map.of("group.instance.id", "stays"));
    }
  }

  /**
   * Joins a group and commits; a member with a name of its own is still in it when it has ended.
   */
  private static void leaveAMember(TestKafka kafka, String group, Map<String, String> settings)
      throws Exception {
    Map<String, Object> all = new HashMap<>(settings);
    all.put("bootstrap.servers", kafka.bootstrapServers());
    all.put("group.id", group);
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.subscribe(List.of("left"));
      Await.until(
          "partitions for the member of " + group,
          () -> {
            consumer.poll(Duration.ofMillis(100));
            return !consumer.assignment().isEmpty();
          });
      consumer.commitSync(Map.of(new TopicPartition("left", 0), new OffsetAndMetadata(0)));
    }
  }

  private static Set<String> groups(Admin admin) throws Exception {
    return admin.listGroups().all().get().stream()
        .map(GroupListing::groupId)
        .collect(Collectors.toSet());
  }

  @Test
  void redis_borrowedTwice_isRefusedUntilItIsGivenBack() {
    try (TestRedis redis = TestRedis.borrow()) {
      assertThrows(IllegalStateException.class, TestRedis::borrow);
      assertThrows(IllegalStateException.class, redis::kill);
      assertThrows(IllegalStateException.class, redis::pause);
    }

    TestRedis.borrow().close();
  }

  @Test
  void redis_borrowedAgain_hasNoKeysAndNoScripts() throws Exception {
    String uri;
    try (TestRedis redis = TestRedis.borrow()) {
      uri = redis.uri();
      assertEquals("+OK", ask(uri, "SET left 1"));
      assertEquals("+OK", ask(uri, "SELECT 3", "SET left 1"));
      assertEquals(":1", ask(uri, "DBSIZE"));
      ask(uri, "SCRIPT LOAD " + SCRIPT);
      assertEquals("$-1", ask(uri, "EVALSHA " + SCRIPT_SHA1 + " 0"));
    }

    try (TestRedis redis = TestRedis.borrow()) {
      assertEquals(uri, redis.uri());
      assertEquals(":0", ask(uri, "DBSIZE"));
      assertEquals(":0", ask(uri, "SELECT 3", "DBSIZE"));
      assertTrue(ask(uri, "EVALSHA " + SCRIPT_SHA1 + " 0").startsWith("-NOSCRIPT"));
    }
  }

  private static Admin admin(TestKafka kafka) {
    return Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()));
  }

  private static void awaitPong(String uri) throws Exception {
    Await.until(
        PONG,
        () -> {
          try {
            return ping(uri).equals(PONG);
          } catch (IOException notUp) {
            return false;
          }
        });
  }

  private static String ping(String uri) throws IOException {
    return ask(uri, "PING");
  }

  /** Gives the first line of the answer to the last of some commands. */
  private static String ask(String uri, String... commands) throws IOException {
    try (Connection connection = new Connection(uri, Await.TIMEOUT)) {
      String answer = "none";
      for (String command : commands) {
        answer = connection.ask(command);
      }
      return answer;
    }
  }

  /** A connection that sends commands as lines. */
  private static final class Connection implements AutoCloseable {
    private final Socket socket;
    private final BufferedReader answers;

    Connection(String uri, Duration patience) throws IOException {
      URI address = URI.create(uri);
      socket = new Socket(address.getHost(), address.getPort());
      socket.setSoTimeout((int) patience.toMillis());
      answers =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
    }

    String ask(String command) throws IOException {
      socket.getOutputStream().write((command + "\r\n").getBytes(StandardCharsets.US_ASCII));
      return answer();
    }

    String answer() throws IOException {
      String line = answers.readLine();
      if (line == null) {
        throw new IOException("the server closed the connection");
      }
      return line;
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }
}
