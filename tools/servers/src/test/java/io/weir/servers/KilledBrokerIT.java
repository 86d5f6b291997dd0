// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.weir.testing.Await;
import io.weir.testing.ChildJvm;
import io.weir.testing.SuiteForm;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A broker is killed with -9 between the decision to commit and the markers that say so, and
 * started again over its data: the markers are written, and no partition stays unreadable.
 *
 * <p>Brokers 4.3.0 to 4.4.0 take a partition whose leader is away for one that is deleted, and note
 * the transaction as complete without its marker (KAFKA-20734). The only broker of a cluster leads
 * nothing for a moment of every start.
 */
final class KilledBrokerIT {
  private static final int ROUNDS = SuiteForm.isFull() ? 3 : 1;
  private static final int PRODUCERS = 6;
  private static final int COMMITS_A_ROUND = 300;
  private static final int PARTITIONS = 4;
  private static final String TOPIC = "counted";

  @TempDir private Path folder;

  @Test
  void brokerKilledWhileCommitting_writesTheMarkersAfterItsRestart() throws Exception {
    for (int round = 1; round <= ROUNDS; round++) {
      runAndKill();
      try (EmbeddedKafka kafka = EmbeddedKafka.start(folder, 0);
          Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
        for (int i = 0; i < PRODUCERS; i++) {
          try (KafkaProducer<byte[], byte[]> successor = producer(kafka, i)) {
            successor.initTransactions();
          }
        }
        Await.until(
            "every transaction to end after kill " + round,
            () ->
                ends(admin, IsolationLevel.READ_COMMITTED)
                    .equals(ends(admin, IsolationLevel.READ_UNCOMMITTED)));
      }
    }
  }

  private void runAndKill() throws IOException, InterruptedException {
    Process child =
        new ProcessBuilder(ChildJvm.command("512m", Child.class, folder.toString()))
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))) {
      int commits = 0;
      while (commits < COMMITS_A_ROUND) {
        String line = lines.readLine();
        assertNotNull(line, "the broker's process ended by itself");
        commits += line.equals("committed") ? 1 : 0;
      }
    } finally {
      child.destroyForcibly();
      child.waitFor();
    }
  }

  /** Returns the last stable offset of each partition; one partition has an open transaction. */
  private static Map<TopicPartition, Long> ends(Admin admin, IsolationLevel reader)
      throws Exception {
    Map<TopicPartition, OffsetSpec> partitions =
        List.of(TOPIC, "__consumer_offsets").stream()
            .flatMap(
                topic -> IntStream.range(0, PARTITIONS).mapToObj(i -> new TopicPartition(topic, i)))
            .collect(Collectors.toMap(Function.identity(), partition -> OffsetSpec.latest()));
    return admin
        .listOffsets(partitions, new ListOffsetsOptions(reader))
        .all()
        .get()
        .entrySet()
        .stream()
        .collect(Collectors.toMap(Map.Entry::getKey, entry -> offset(entry.getValue())));
  }

  private static long offset(ListOffsetsResultInfo info) {
    return Objects.requireNonNull(info).offset();
  }

  private static KafkaProducer<byte[], byte[]> producer(EmbeddedKafka kafka, int number) {
    return new KafkaProducer<>(
        Map.of(
            "bootstrap.servers",
            kafka.bootstrapServers(),
            "transactional.id",
            "committer-" + number),
        new ByteArraySerializer(),
        new ByteArraySerializer());
  }

  private static KafkaConsumer<byte[], byte[]> consumer(EmbeddedKafka kafka, int number) {
    return new KafkaConsumer<>(
        Map.of("bootstrap.servers", kafka.bootstrapServers(), "group.id", "group-" + number),
        new ByteArrayDeserializer(),
        new ByteArrayDeserializer());
  }

  /** A broker in a process of its own, and producers that commit without a pause. */
  static final class Child {
    private Child() {}

    /** Starts it over a folder; says {@code committed} after each commit. */
    public static void main(String[] args) throws Exception {
      EmbeddedKafka kafka = EmbeddedKafka.start(Path.of(args[0]), 0);
      try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
        if (!admin.listTopics().names().get().contains(TOPIC)) {
          admin.createTopics(List.of(new NewTopic(TOPIC, PARTITIONS, (short) 1))).all().get();
        }
      }
      ExecutorService committers = Executors.newFixedThreadPool(PRODUCERS);
      List<Callable<@Nullable Void>> commits = new ArrayList<>();
      for (int i = 0; i < PRODUCERS; i++) {
        int number = i;
        commits.add(() -> commitForever(kafka, number));
      }
      committers.invokeAll(commits);
    }

    private static @Nullable Void commitForever(EmbeddedKafka kafka, int number) throws Exception {
      try (KafkaProducer<byte[], byte[]> producer = producer(kafka, number);
          KafkaConsumer<byte[], byte[]> group = consumer(kafka, number)) {
        producer.initTransactions();
        for (long i = 1; i < Long.MAX_VALUE; i++) {
          producer.beginTransaction();
          List<Future<RecordMetadata>> sent = new ArrayList<>();
          for (int partition = 0; partition < PARTITIONS; partition++) {
            sent.add(producer.send(new ProducerRecord<>(TOPIC, partition, null, new byte[8])));
          }
          for (Future<RecordMetadata> each : sent) {
            each.get();
          }
          producer.sendOffsetsToTransaction(
              Map.of(new TopicPartition(TOPIC, 0), new OffsetAndMetadata(i)),
              group.groupMetadata());
          producer.commitTransaction();
          System.out.println("committed");
        }
      }
      return null;
    }
  }
}
