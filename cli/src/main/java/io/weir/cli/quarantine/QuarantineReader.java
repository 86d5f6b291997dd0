// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import io.weir.cli.records.ReadProgress;
import io.weir.cli.records.TopicReader;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.wire.QuarantineHeaders;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/** Reads the quarantine from its beginning, then follows it. Not thread-safe. */
final class QuarantineReader implements AutoCloseable {
  private static final Pattern PART = Pattern.compile("(\\d{1,4})/(\\d{1,4})");
  private static final Pattern RANGE = Pattern.compile("(\\d{1,8})(?:-(\\d{1,8}))?");

  private final TopicReader topic;
  private final Map<Integer, Parts> parts = new HashMap<>();
  private final Map<Integer, Long> ends;

  /** Receives the content of the quarantine. */
  interface Visitor {
    /** A line or record was refused. */
    void refused(Refusal refusal);

    /** A replay of a refused line or record was counted. */
    void counted(Source source);
  }

  private static final class Parts {
    private final ByteArrayOutputStream value = new ByteArrayOutputStream();
    private int next = 1;
  }

  QuarantineReader(KafkaConnection kafka) {
    this.topic = new TopicReader(kafka, Topics.QUARANTINE);
    this.ends = topic.ends();
  }

  /** Returns the number of partitions of every topic. */
  int partitions() {
    return topic.partitionCount();
  }

  /** Returns the end offsets of the partitions at the time the reader was created. */
  Map<Integer, Long> ends() {
    return ends;
  }

  /** Reads up to the offsets that {@link #ends} returns. */
  void read(Visitor visitor, String what, ReadProgress progress) {
    long size = topic.size(ends);
    topic.read(ends, record -> take(record, visitor), done -> progress.step(what, done, size));
  }

  /** Reads the records that follow the last record read; waits for a moment if there are none. */
  void follow(Visitor visitor) {
    topic.follow(record -> take(record, visitor));
  }

  private void take(ConsumerRecord<@Nullable String, byte @Nullable []> record, Visitor visitor) {
    byte[] value = record.value() == null ? new byte[0] : record.value();
    if (record.headers().lastHeader(QuarantineHeaders.REPLAYED) != null) {
      takeMarker(record, new String(value, StandardCharsets.UTF_8), visitor);
      return;
    }
    Matcher part = PART.matcher(Refusal.text(record.headers(), QuarantineHeaders.PART));
    if (!part.matches()) {
      visit(Refusal.of(record, value, true), visitor);
      return;
    }
    int number = Integer.parseInt(part.group(1));
    if (number == 1) {
      parts.put(record.partition(), new Parts());
    }
    Parts before = parts.computeIfAbsent(record.partition(), none -> new Parts());
    before.value.writeBytes(value);
    boolean isInOrder = number == before.next++;
    if (number == Integer.parseInt(part.group(2))) {
      parts.remove(record.partition());
      visit(Refusal.of(record, before.value.toByteArray(), isInOrder), visitor);
    }
  }

  private static void visit(@Nullable Refusal refusal, Visitor visitor) {
    if (refusal != null) {
      visitor.refused(refusal);
    }
  }

  private static void takeMarker(
      ConsumerRecord<@Nullable String, byte @Nullable []> record, String lines, Visitor visitor) {
    Source place = Source.parse(Refusal.text(record.headers(), QuarantineHeaders.REPLAYED));
    if (place == null) {
      return;
    }
    if (lines.equals(QuarantineHeaders.WHOLE)) {
      visitor.counted(place);
    }
    for (Matcher range = RANGE.matcher(lines); range.find(); ) {
      int first = Integer.parseInt(range.group(1));
      int last = range.group(2) == null ? first : Integer.parseInt(range.group(2));
      for (int line = first; line <= last; line++) {
        visitor.counted(new Source(place.partition(), place.offset(), line));
      }
    }
  }

  @Override
  public void close() {
    topic.close();
  }
}
