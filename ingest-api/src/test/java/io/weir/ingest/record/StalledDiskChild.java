// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.record.journal.Chunk;
import io.weir.ingest.record.journal.ForwardingJournal;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import io.weir.ingest.record.journal.JournalIdentity;
import io.weir.topics.kafka.KafkaConnection;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/** The process of {@link StalledDiskTest}. */
final class StalledDiskChild {
  static final String WENT_ON = "the other thread went on";

  private StalledDiskChild() {}

  /** Reads from a pipe without a writer: a system call that does not return. */
  private static final class StalledJournal extends ForwardingJournal {
    private final String pipe;
    private final CountDownLatch appending = new CountDownLatch(1);

    StalledJournal(String pipe) {
      super(Journal.inMemory(new JournalIdentity("n1", 1, 1)));
      this.pipe = pipe;
    }

    @Override
    public void append(List<Chunk> chunks) throws JournalException {
      appending.countDown();
      try (InputStream in = new FileInputStream(pipe)) {
        var unused = in.read();
      } catch (IOException broken) {
        throw new JournalException("the pipe cannot be read: " + broken.getMessage());
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    StalledJournal stalled = new StalledJournal(arguments[0]);
    RecordConfig config =
        RecordConfig.builder("n1", KafkaConnection.to("nowhere:1"), Path.of("unused"))
            .durability(Durability.JOURNALED)
            .build();
    KafkaCallLog log =
        new KafkaCallLog(
            config,
            DecisionClock.ofSystem(),
            stalled,
            DiscardingProducer::new,
            new SimpleMeterRegistry());
    Executor virtual = virtualThreads();
    virtual.execute(
        () -> {
          var unused = log.record(log.begin(), TestCalls.call("id", "acme", 1));
        });
    stalled.appending.await();
    CountDownLatch wentOn = new CountDownLatch(1);
    virtual.execute(wentOn::countDown);
    wentOn.await();
    System.out.println(WENT_ON);
    Runtime.getRuntime().halt(0);
  }

  /** Virtual threads by reflection, since these sources are compiled for Java 17. */
  private static Executor virtualThreads() throws ReflectiveOperationException {
    return (Executor) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
  }
}
