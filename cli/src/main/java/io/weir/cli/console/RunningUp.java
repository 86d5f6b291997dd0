// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.console;

import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.settings.Settings;
import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;

/**
 * The file in {@code WEIR_DATA} with the address of the Kafka broker of a running {@code weir up}.
 * Other commands of the same user read this file. The file contains the process id and its start
 * time, so that the file of a killed process is ignored.
 */
public final class RunningUp implements AutoCloseable {
  private static final String FILE = "up.properties";
  private static final String DATA = "WEIR_DATA";
  private static final String DEFAULT_DATA = ".weir";

  private static final String KAFKA = "kafka";
  private static final String KAFKA_PROPERTY = "kafka.";
  private static final String PID = "pid";
  private static final String STARTED = "process_started";

  private final Path file;

  private RunningUp(Path file) {
    this.file = file;
  }

  /** Returns the data folder of {@code up}. */
  public static Path dataFolder(Settings settings) {
    return Path.of(settings.text(DATA, DEFAULT_DATA));
  }

  /**
   * Writes the file for this process.
   *
   * @param data the data folder
   * @param kafka the broker's address
   * @param kafkaProperties further properties that Kafka clients need
   */
  public static RunningUp announce(Path data, String kafka, Map<String, String> kafkaProperties)
      throws IOException {
    ProcessHandle self = ProcessHandle.current();
    Properties content = new Properties();
    content.setProperty(KAFKA, kafka);
    kafkaProperties.forEach((name, value) -> content.setProperty(KAFKA_PROPERTY + name, value));
    content.setProperty(PID, Long.toString(self.pid()));
    content.setProperty(STARTED, startOf(self));
    Path file = data.resolve(FILE);
    Path unfinished = data.resolve(FILE + ".new");
    try (Writer writer = Files.newBufferedWriter(unfinished, StandardCharsets.UTF_8)) {
      content.store(writer, "written by weir up for other weir commands");
    }
    Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
    return new RunningUp(file);
  }

  /**
   * Returns the connection to the broker of a running {@code up} in the data folder; empty if none
   * is running.
   */
  public static Optional<KafkaConnection> kafka(Settings settings) {
    Path file = dataFolder(settings).resolve(FILE);
    Properties content = new Properties();
    try {
      // checked before the file is opened: opening a pipe would wait for its writer
      if (!Files.isRegularFile(file) || !isOfThisUser(file)) {
        return Optional.empty();
      }
      try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
        content.load(reader);
      }
    } catch (IOException | IllegalArgumentException absentOrUnreadable) {
      return Optional.empty();
    }
    String address = content.getProperty(KAFKA);
    if (address == null || !isRunning(content)) {
      return Optional.empty();
    }
    Map<String, String> properties = new HashMap<>();
    for (String name : content.stringPropertyNames()) {
      if (name.startsWith(KAFKA_PROPERTY)) {
        properties.put(name.substring(KAFKA_PROPERTY.length()), content.getProperty(name));
      }
    }
    return Optional.of(KafkaConnection.to(address, properties));
  }

  /**
   * Returns whether this user owns the file. A file of another user in the current folder must not
   * choose the Kafka broker or its settings. The method compares the owners of files, because in a
   * container the user may have no name.
   */
  private static boolean isOfThisUser(Path file) throws IOException {
    Path own = Files.createTempFile("weir", null);
    try {
      return Files.getOwner(file).equals(Files.getOwner(own));
    } finally {
      Files.delete(own);
    }
  }

  private static boolean isRunning(Properties content) {
    try {
      long pid = Long.parseLong(content.getProperty(PID, ""));
      // another process may have the same id, but not the same start time
      return ProcessHandle.of(pid)
          .filter(process -> startOf(process).equals(content.getProperty(STARTED)))
          .isPresent();
    } catch (NumberFormatException malformed) {
      return false;
    }
  }

  private static String startOf(ProcessHandle process) {
    return process.info().startInstant().map(Instant::toString).orElse("unknown");
  }

  /** Removes the file. */
  @Override
  public void close() throws IOException {
    Files.deleteIfExists(file);
  }
}
