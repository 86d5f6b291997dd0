// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.access.Tls;
import io.weir.testing.Await;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.Callback;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Answers that the thread which reads the connections writes, while it is held and when not. */
final class AnsweringConnectorIT {
  private static final long HELD_NANOS = 100_000_000;

  private final Queue<Long> waits = new ConcurrentLinkedQueue<>();
  private final Queue<String> answeredBy = new ConcurrentLinkedQueue<>();
  private final Queue<Runnable> asked = new ConcurrentLinkedQueue<>();
  private final AtomicInteger faults = new AtomicInteger();
  private final Server server = new Server();
  private final AnsweringConnector connector =
      new AnsweringConnector(
          server, Tls.protocols(null, new HttpConfiguration()), (queue, nanos) -> waits.add(nanos));

  /** Keeps each request until the test has it answered. */
  private final class Keeping extends Handler.Abstract.NonBlocking {
    @Override
    public boolean handle(Request request, Response response, Callback callback) {
      asked.add(
          () ->
              AnsweringConnector.execute(
                  request,
                  () -> {
                    answeredBy.add(Thread.currentThread().getName());
                    response.write(true, ByteBuffer.allocate(0), callback);
                    if (request.getHttpURI().getPath().equals("/fault")) {
                      faults.incrementAndGet();
                      throw new IllegalStateException("nothing expected this");
                    }
                  }));
      if (request.getHttpURI().getPath().equals("/now")) {
        asked.remove().run();
      }
      return true;
    }
  }

  @BeforeEach
  void start() throws Exception {
    server.addConnector(connector);
    server.setHandler(new Keeping());
    server.start();
  }

  @AfterEach
  void stop() throws Exception {
    server.stop();
  }

  private RawHttp ask(String path) throws Exception {
    RawHttp connection = RawHttp.connect(connector.getLocalPort());
    connection.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return connection;
  }

  @Test
  void responsesDuringAHeldThread_areWrittenTogether_waitIsMeasured() throws Exception {
    try (RawHttp first = ask("/");
        RawHttp second = ask("/");
        RawHttp third = ask("/")) {
      Await.until("three requests", () -> asked.size() == 3);
      CountDownLatch held = new CountDownLatch(1);
      CountDownLatch letGo = new CountDownLatch(1);
      connector
          .getSelectorManager()
          .getBeans(ManagedSelector.class)
          .forEach(
              selector ->
                  selector.submit(
                      unused -> {
                        held.countDown();
                        awaitQuietly(letGo);
                      }));
      held.await();
      asked.forEach(Runnable::run);
      long heldSinceNanos = System.nanoTime(); // each task has waited for longer than from here on
      Await.until("time", () -> System.nanoTime() - heldSinceNanos > HELD_NANOS);
      assertEquals(List.of(), List.copyOf(answeredBy));

      letGo.countDown();

      for (RawHttp connection : List.of(first, second, third)) {
        assertEquals(200, connection.answer().status());
      }
      assertEquals(1, answeredBy.stream().distinct().count(), answeredBy::toString);
      assertEquals(1, waits.size(), waits::toString);
      assertTrue(waits.peek() >= HELD_NANOS, waits::toString);
    }
  }

  @Test
  void answerThatFails_keepsNoOtherFromBeingWritten() throws Exception {
    try (RawHttp first = ask("/fault");
        RawHttp second = ask("/")) {
      Await.until("two requests", () -> asked.size() == 2);

      asked.forEach(Runnable::run);

      assertEquals(200, first.answer().status());
      assertEquals(200, second.answer().status());
      // it fails after it has answered
      Await.until("the answer to fail", () -> faults.get() == 1);
    }
  }

  /** The thread that reads the connection answers at once, as a call that is refused is. */
  @Test
  void answerGivenWhileReading_isWritten() throws Exception {
    for (int i = 0; i < 100; i++) {
      try (RawHttp connection = ask("/now")) {
        assertEquals(200, connection.answer().status());
      }
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
    }
  }
}
