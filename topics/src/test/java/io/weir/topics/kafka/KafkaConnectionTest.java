// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.topics.settings.Settings;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.KafkaException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class KafkaConnectionTest {
  @TempDir private Path folder;

  private static KafkaConnection of(Map<String, String> variables) {
    Map<String, String> all = new HashMap<>(variables);
    all.putIfAbsent("WEIR_KAFKA", "127.0.0.1:9092");
    return KafkaConnection.of(Settings.of(all));
  }

  private Path file(String content) throws IOException {
    return Files.writeString(folder.resolve("kafka.properties"), content);
  }

  private static Properties read(KafkaConnection connection) {
    return connection.streams(new Properties());
  }

  private static String refusal(Map<String, String> variables) {
    return String.valueOf(
        assertThrows(InvalidSettingException.class, () -> of(variables)).getMessage());
  }

  @Test
  void properties_ofTheFileAndOfVariables_variablesTakePrecedence() throws IOException {
    Path file = file("security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\n# a comment\n");

    Properties properties =
        read(
            of(
                Map.of(
                    "WEIR_KAFKA_CONFIG",
                    file.toString(),
                    "WEIR_KAFKA_SASL_MECHANISM",
                    "SCRAM-SHA-512",
                    "WEIR_KAFKA_SSL_TRUSTSTORE_TYPE",
                    "PEM",
                    "WEIR_KAFKA_CLIENT_RACK",
                    "")));

    Properties expected = new Properties();
    expected.put("bootstrap.servers", "127.0.0.1:9092");
    expected.put("security.protocol", "SASL_SSL");
    expected.put("sasl.mechanism", "SCRAM-SHA-512");
    expected.put("ssl.truststore.type", "PEM");
    assertEquals(expected, properties);
  }

  /** The port of the broker that {@code weir up} starts is not a client property. */
  @Test
  void portOfTheEmbeddedBroker_isNoProperty() {
    Properties expected = new Properties();
    expected.put("bootstrap.servers", "127.0.0.1:9092");
    assertEquals(expected, read(of(Map.of("WEIR_KAFKA_PORT", "9093"))));
    assertFalse(KafkaConnection.isProperty("WEIR_KAFKA_PORT"));
    assertFalse(KafkaConnection.isProperty("WEIR_KAFKA"));
    assertTrue(KafkaConnection.isProperty("WEIR_KAFKA_CONFIG"));
  }

  @ParameterizedTest
  @CsvSource({
    "acks, must not be lost",
    "enable.idempotence, must not be lost",
    "transactional.id, must not be lost",
    "isolation.level, only committed records",
    "enable.auto.commit, only committed records",
    "processing.guarantee, exact counts depend",
    "group.id, partitions",
    "bootstrap.servers, WEIR_KAFKA sets the addresses",
    "max.request.size, memory",
    "request.timeout.ms, wait",
    "default.timestamp.extractor, exact counts depend",
    "check.crcs, exact counts depend",
    "interceptor.classes, exact counts depend",
    "fetch.min.bytes, operators must not set the property",
    "__processing.threads.enabled__, operators must not set the property",
    "producer.acks, to some clients; set acks",
    "main.consumer.isolation.level, to some clients"
  })
  void whatCorrectnessNeeds_cannotBeSet_andSaysSo(String name, String why) throws IOException {
    String inFile = refusal(Map.of("WEIR_KAFKA_CONFIG", file(name + "=x").toString()));
    assertTrue(inFile.startsWith("WEIR_KAFKA_CONFIG ("), inFile);
    assertTrue(inFile.contains("sets " + name + ", which Weir sets itself"), inFile);
    assertTrue(inFile.contains(why), inFile);

    if (name.startsWith("__")) {
      return; // no variable has such a name
    }
    String variable = "WEIR_KAFKA_" + name.toUpperCase(Locale.ROOT).replace('.', '_');
    String inVariable = refusal(Map.of(variable, "x"));
    assertTrue(inVariable.startsWith(variable + " sets " + name), inVariable);
  }

  @Test
  void file_unreadable_isRefusedByName() throws IOException {
    String absent = refusal(Map.of("WEIR_KAFKA_CONFIG", "/nowhere/kafka.properties"));
    assertTrue(absent.contains("WEIR_KAFKA_CONFIG (/nowhere/kafka.properties)"), absent);
    Path notText = folder.resolve("binary");
    Files.write(notText, new byte[] {(byte) 0xc3, (byte) 0x28});
    assertTrue(refusal(Map.of("WEIR_KAFKA_CONFIG", notText.toString())).contains("not UTF-8"));
    Path malformed = file("a=\\u00zz");
    assertTrue(
        refusal(Map.of("WEIR_KAFKA_CONFIG", malformed.toString())).contains("a properties file"));
  }

  /** Clients get Weir's values for its own properties, and the operator's values for defaults. */
  @Test
  void ownProperties_takePrecedence_defaultsDoNot() {
    KafkaConnection connection =
        KafkaConnection.to("127.0.0.1:9092", Map.of("compression.type", "zstd"));
    Properties own = new Properties();
    own.put("producer.compression.type", "lz4");
    own.put("producer.linger.ms", 10);
    Properties streams = connection.streams(own);
    assertEquals("zstd", streams.get("compression.type"));
    assertFalse(streams.containsKey("producer.compression.type"));
    assertEquals(10, streams.get("producer.linger.ms"));
  }

  /**
   * If OwnProperties did not list a property, Weir's value would replace the operator's value
   * without an error.
   */
  @ParameterizedTest
  @ValueSource(strings = {"security.protocol", "sasl.mechanism", "client.rack"})
  void ownProperty_thatOperatorsMaySet_isRefused(String name) {
    KafkaConnection connection = KafkaConnection.to("127.0.0.1:9092");
    assertThrows(
        IllegalArgumentException.class, () -> connection.producer(Map.of(name, "PLAINTEXT")));
    Properties streams = new Properties();
    streams.put("consumer." + name, "x");
    assertThrows(IllegalArgumentException.class, () -> connection.streams(streams));
  }

  @Test
  void properties_reachTheClients() {
    KafkaConnection connection =
        KafkaConnection.to("127.0.0.1:9092", Map.of("security.protocol", "NONSENSE"));
    for (Runnable open :
        new Runnable[] {
          () -> connection.admin(Map.of()).close(),
          () -> connection.consumer(Map.of()).close(),
          () -> connection.producer(Map.of()).close()
        }) {
      KafkaException wrong = assertThrows(KafkaException.class, open::run);
      assertTrue(wrong.toString().contains("NONSENSE"), wrong::toString);
    }
    try (KafkaProducer<byte[], byte[]> open =
        KafkaConnection.to("127.0.0.1:9092", Map.of("linger.of.a.plugin", "1"))
            .producer(Map.of("linger.ms", 0))) {
      assertTrue(open.metrics().size() > 0);
    }
  }

  /** The text form must not contain properties, because they include passwords. */
  @Test
  void text_hasTheAddressesOnly() {
    assertEquals(
        "127.0.0.1:9092",
        KafkaConnection.to("127.0.0.1:9092", Map.of("ssl.key.password", "secret")).toString());
  }
}
