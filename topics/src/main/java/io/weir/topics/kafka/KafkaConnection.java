// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.kafka;

import io.weir.topics.settings.Settings;
import java.io.IOException;
import java.io.Reader;
import java.nio.charset.MalformedInputException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.jspecify.annotations.Nullable;

/**
 * The connection to Kafka: the addresses and the client properties that the operator sets. This
 * class opens all of Weir's Kafka clients. Weir sets some properties itself, because exact counts
 * or bounds on time and memory depend on them. Of the properties that Weir sets, the operator can
 * change only a few defaults. The text form contains only the addresses, because a property may be
 * a secret. Immutable and thread-safe.
 *
 * <p>The operator sets properties in the file {@code WEIR_KAFKA_CONFIG} and in variables. Example:
 * {@code WEIR_KAFKA_SECURITY_PROTOCOL} sets {@code security.protocol}. Variables take precedence
 * over the file.
 */
public final class KafkaConnection {
  /** The environment variable with the addresses. */
  public static final String VARIABLE = "WEIR_KAFKA";

  /** The environment variable with the path of the properties file. */
  public static final String FILE = "WEIR_KAFKA_CONFIG";

  private static final String PREFIX = "WEIR_KAFKA_";

  private static final String TOKEN_ENDPOINT = "sasl.oauthbearer.token.endpoint.url";
  private static final String ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls";

  /**
   * The environment variable with the port of the embedded broker. This variable does not set a
   * client property.
   */
  private static final String PORT = "WEIR_KAFKA_PORT";

  private final String bootstrapServers;
  private final Map<String, String> properties;

  private KafkaConnection(String bootstrapServers, Map<String, String> properties) {
    this.bootstrapServers = bootstrapServers;
    this.properties = Map.copyOf(properties);
  }

  /**
   * Returns a connection without properties of an operator, for example to a broker in this
   * process.
   */
  public static KafkaConnection to(String bootstrapServers) {
    return new KafkaConnection(bootstrapServers, Map.of());
  }

  /**
   * Returns a connection with properties of an operator.
   *
   * @throws Settings.InvalidSettingException if Weir sets one of the properties itself; the message
   *     states the property
   */
  public static KafkaConnection to(String bootstrapServers, Map<String, String> properties) {
    properties.keySet().forEach(name -> requireOpen(name, "the property " + name));
    return new KafkaConnection(bootstrapServers, properties);
  }

  /**
   * Returns the connection that the settings of a process specify.
   *
   * @throws Settings.InvalidSettingException if the addresses are missing or not valid, the file
   *     cannot be read, or Weir sets one of the properties itself; the message states the variable,
   *     the file and the property
   */
  public static KafkaConnection of(Settings settings) {
    String servers = settings.bootstrapServers(VARIABLE);
    Map<String, String> properties = new TreeMap<>();
    String file = settings.text(FILE, "");
    if (!file.isEmpty()) {
      read(Path.of(file))
          .forEach(
              (name, value) -> {
                requireOpen(name, FILE + " (" + file + ") sets " + name + ", which");
                properties.put(name, value);
              });
    }
    settings
        .startingWith(PREFIX)
        .forEach(
            (variable, value) -> {
              if (isProperty(variable) && !variable.equals(FILE)) {
                String name = propertyName(variable);
                requireOpen(name, variable + " sets " + name + ", which");
                properties.put(name, value);
              }
            });
    allowTokenEndpoint(properties);
    return new KafkaConnection(servers, properties);
  }

  /**
   * Sets the system property that lets Kafka's clients fetch tokens from the operator's URL
   * (KIP-1139), unless the system property is already set. Without the system property, Kafka
   * rejects the URL, because the client properties of a program can come from untrusted users.
   * Weir's client properties come from the operator, whom Weir trusts.
   */
  private static void allowTokenEndpoint(Map<String, String> properties) {
    String endpoint = properties.get(TOKEN_ENDPOINT);
    if (endpoint != null && System.getProperty(ALLOWED_URLS) == null) {
      System.setProperty(ALLOWED_URLS, endpoint);
    }
  }

  /** Returns the environment variable that sets a property. */
  public static String variable(String property) {
    return PREFIX + property.toUpperCase(Locale.ROOT).replace('.', '_');
  }

  private static String propertyName(String variable) {
    return variable.substring(PREFIX.length()).toLowerCase(Locale.ROOT).replace('_', '.');
  }

  private static Map<String, String> read(Path file) {
    Properties read = new Properties();
    try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      read.load(reader);
    } catch (MalformedInputException notText) {
      throw refused(file, "is not UTF-8");
    } catch (IOException unreadable) {
      throw refused(file, "names a file that cannot be read: " + unreadable.getMessage());
    } catch (IllegalArgumentException malformed) {
      throw refused(file, "is not a properties file: " + malformed.getMessage());
    }
    Map<String, String> properties = new TreeMap<>();
    read.stringPropertyNames().forEach(name -> properties.put(name, read.getProperty(name)));
    return properties;
  }

  private static Settings.InvalidSettingException refused(Path file, String why) {
    return new Settings.InvalidSettingException(FILE + " (" + file + ") " + why);
  }

  private static void requireOpen(String name, String subject) {
    String why = OwnProperties.reason(name);
    if (why != null) {
      throw new Settings.InvalidSettingException(subject + " Weir sets itself: " + why);
    }
  }

  /** Returns whether an environment variable sets a property. */
  public static boolean isProperty(String variable) {
    return variable.startsWith(PREFIX) && !variable.equals(PORT);
  }

  /** Returns Kafka's addresses as {@code host:port}, separated by commas. */
  public String bootstrapServers() {
    return bootstrapServers;
  }

  /**
   * Opens an admin client without sending a request.
   *
   * @param own the properties that Weir sets for this client
   * @throws KafkaException if no address can be resolved, or a property is wrong
   */
  public Admin admin(Map<String, Object> own) {
    return Admin.create(with(own));
  }

  /**
   * Opens an idempotent producer with {@code acks=all}, without sending a request.
   *
   * @param own the properties that Weir sets for this producer
   * @throws KafkaException if no address can be resolved, or a property is wrong
   */
  public KafkaProducer<byte[], byte[]> producer(Map<String, Object> own) {
    Map<String, Object> all = with(own);
    all.put(ProducerConfig.ACKS_CONFIG, "all");
    all.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
    return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
  }

  /**
   * Opens a consumer that reads only committed records, without sending a request. The consumer
   * does not commit offsets automatically, and does not create topics.
   *
   * @param own the properties that Weir sets for this consumer. If {@code own} is empty, the
   *     consumer has no group and no client id, and begins at the first record
   * @throws KafkaException if no address can be resolved, or a property is wrong
   */
  public KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> own) {
    return consumer(own, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  /**
   * Opens a consumer as {@link #consumer(Map)} does, with other deserializers.
   *
   * @throws KafkaException if no address can be resolved, or a property is wrong
   */
  public <K extends @Nullable Object, V extends @Nullable Object> KafkaConsumer<K, V> consumer(
      Map<String, Object> own, Deserializer<K> keys, Deserializer<V> values) {
    Map<String, Object> all = new HashMap<>();
    all.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    all.putAll(with(own));
    all.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, "classic");
    all.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    all.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    all.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
    return new KafkaConsumer<>(all, keys, values);
  }

  /**
   * Returns the properties of a Streams application with the addresses and the operator's
   * properties added. All clients of the application use these properties.
   *
   * @param own the properties that Weir sets for the application
   */
  public Properties streams(Properties own) {
    Properties all = new Properties();
    all.putAll(properties);
    for (Object each : own.keySet()) {
      String name = String.valueOf(each);
      OwnProperties.requireKnown(name);
      if (!OwnProperties.isDefault(name) || !properties.containsKey(OwnProperties.plain(name))) {
        all.put(name, own.get(name));
      }
    }
    all.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    return all;
  }

  private Map<String, Object> with(Map<String, Object> own) {
    own.keySet().forEach(OwnProperties::requireKnown);
    Map<String, Object> all = new HashMap<>(own);
    all.putAll(properties);
    all.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    return all;
  }

  /** Returns the addresses. */
  @Override
  public String toString() {
    return bootstrapServers;
  }
}
