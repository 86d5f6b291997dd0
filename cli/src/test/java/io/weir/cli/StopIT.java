// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.cli.console.Stop;
import io.weir.testing.Await;
import io.weir.testing.ChildJvm;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A process ends when a stop is requested or a part of it dies, whatever hangs. */
final class StopIT {
  @TempDir private Path folder;

  private Process start(String failure) throws Exception {
    Process process =
        new ProcessBuilder(ChildJvm.command("64m", Hanging.class, failure))
            .redirectError(folder.resolve("errors").toFile())
            .start();
    BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
    assertEquals("ready", output.readLine());
    return process;
  }

  private Process starting(String... how) throws IOException {
    List<String> arguments = new ArrayList<>(List.of(folder.toString()));
    arguments.addAll(List.of(how));
    return new ProcessBuilder(
            ChildJvm.command("64m", Starting.class, arguments.toArray(String[]::new)))
        .redirectError(folder.resolve("errors").toFile())
        .start();
  }

  /**
   * Reads the output to its end. Whether the process also said that it was asked is left open: its
   * hooks run side by side, and the one that closes may end the process first.
   */
  private static void assertClosedOnce(BufferedReader output) {
    assertEquals(1, output.lines().filter("closed"::equals).count());
  }

  private String errors() throws IOException {
    return Files.readString(folder.resolve("errors"));
  }

  @Test
  void stopRequested_closingHangs_endsAtTheLimitAndSaysWhere() throws Exception {
    Process process = start("");

    process.destroy();

    assertTrue(process.waitFor(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(1, process.exitValue());
    String errors = errors();
    assertTrue(errors.contains("did not stop within PT20S"), errors);
    assertTrue(errors.contains("Hanging"), errors);
  }

  /** In the past, such a node sent no final heartbeat, and all windows waited. */
  @Test
  void stopRequestedWhileStarting_isClosedOnceStarted() throws Exception {
    Process process = starting();
    BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
    assertEquals("starting", output.readLine());

    process.toHandle().destroy(); // its output stays open
    assertEquals("asked", output.readLine());
    Await.until("it waits for the start", () -> errors().contains("waits at most PT40S"));
    Files.createFile(folder.resolve("go"));

    assertEquals("closed", output.readLine());
    assertTrue(process.waitFor(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(0, process.exitValue());
  }

  /** In the past, neither the timeout nor the reason of the failure was printed. */
  @Test
  void stopRequestedWhileStarting_startFails_endsAndSaysWhy() throws Exception {
    Process process = starting();
    BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
    assertEquals("starting", output.readLine());

    process.toHandle().destroy();
    assertEquals("asked", output.readLine());
    Await.until("it says for how long", () -> errors().contains("waits at most PT40S"));
    Files.createFile(folder.resolve("no-kafka"));
    Files.createFile(folder.resolve("go"));

    assertTrue(process.waitFor(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(0, process.exitValue());
    assertTrue(errors().contains("there is no Kafka"), errors());
  }

  /** In the past, the failure was printed only if the hook had run before. */
  @Test
  void stopRequestedJustBeforeTheStartFails_saysWhy() throws Exception {
    Files.createFile(folder.resolve("no-kafka"));
    Files.createFile(folder.resolve("go"));
    Process process = starting("ask-itself");

    assertTrue(process.waitFor(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(0, process.exitValue());
    assertTrue(errors().contains("there is no Kafka"), errors());
  }

  /** Regression: a stop requested between the start and the wait for the end closed nothing. */
  @Test
  void stopRequestedAfterTheStart_isClosed() throws Exception {
    Files.createFile(folder.resolve("go"));
    Process process = starting();
    BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
    assertEquals("starting", output.readLine());
    assertEquals("started", output.readLine());

    process.toHandle().destroy();

    assertClosedOnce(output);
    assertTrue(process.waitFor(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(0, process.exitValue());
  }

  /** In the past, the node then sent no final heartbeat. */
  @Test
  void stopRequestedWhileAwaitingReadiness_isClosed() throws Exception {
    Files.createFile(folder.resolve("go"));
    Process process = starting("wait");
    BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
    assertEquals("starting", output.readLine());
    assertEquals("started", output.readLine());
    assertEquals("waiting", output.readLine());

    process.toHandle().destroy();

    assertClosedOnce(output);
    assertTrue(process.waitFor(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(0, process.exitValue());
  }

  /**
   * If the wait or another step fails, the process closes what was started, and ends with status 1.
   */
  @ParameterizedTest
  @ValueSource(strings = {"fail", "fail-elsewhere"})
  void startedAndThenFails_isClosed_andEndsWith1(String how) throws Exception {
    Files.createFile(folder.resolve("go"));
    Process process = starting(how);
    BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
    assertEquals("starting", output.readLine());
    assertEquals("started", output.readLine());

    assertClosedOnce(output);
    assertTrue(process.waitFor(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(1, process.exitValue());
  }

  @Test
  void partDead_closingHangs_endsByItselfAndSaysWhich() throws Exception {
    Process process = start("Kafka has stopped: no room");

    assertTrue(process.waitFor(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(1, process.exitValue());
    String errors = errors();
    assertTrue(errors.contains("weir: Kafka has stopped: no room"), errors);
  }

  /** A process whose resource is started when a file is there. */
  static final class Starting {
    private Starting() {}

    public static void main(String[] arguments) throws Exception {
      Path folder = Path.of(arguments[0]);
      Runtime.getRuntime().addShutdownHook(new Thread(() -> say("asked")));
      Stop<AutoCloseable> stop =
          Stop.start(
              () -> {
                say("starting");
                Await.until("the file is there", () -> Files.exists(folder.resolve("go")));
                if (arguments.length > 1 && arguments[1].equals("ask-itself")) {
                  askItself();
                }
                if (Files.exists(folder.resolve("no-kafka"))) {
                  throw new IllegalStateException("there is no Kafka");
                }
                return () -> say("closed");
              },
              started -> Duration.ofSeconds(10));
      say("started");
      if (arguments.length == 1) {
        new CountDownLatch(1).await(); // as one that writes into a full pipe
      }
      try {
        if (arguments[1].equals("fail-elsewhere")) {
          throw new IllegalStateException("the terminal is gone");
        }
        stop.await(() -> readiness(arguments[1]));
      } catch (IllegalStateException notReady) {
        Stop.endingWith(1); // as WeirCommand does with every status
        System.exit(1);
      }
    }

    /** Asks the process to end; returns as soon as it is ending, whatever its hooks have done. */
    private static void askItself() throws Exception {
      new Thread(() -> System.exit(0)).start();
      Await.until("the process is ending", Starting::isEnding);
    }

    private static boolean isEnding() {
      Thread probe = new Thread(() -> {});
      try {
        Runtime.getRuntime().addShutdownHook(probe);
        Runtime.getRuntime().removeShutdownHook(probe);
        return false;
      } catch (IllegalStateException ending) {
        return true;
      }
    }

    private static boolean readiness(String what) throws InterruptedException {
      if (what.equals("fail")) {
        throw new IllegalStateException("not ready");
      }
      say("waiting");
      return new CountDownLatch(1).await(1, TimeUnit.HOURS);
    }

    private static void say(String what) {
      System.out.println(what);
      System.out.flush();
    }
  }

  /** A process whose resource cannot be closed. */
  static final class Hanging {
    private Hanging() {}

    public static void main(String[] arguments) throws Exception {
      AutoCloseable hanging = () -> new CountDownLatch(1).await();
      Stop<AutoCloseable> stop = Stop.start(() -> hanging, started -> Duration.ofSeconds(20));
      System.err.println("weir: " + stop.awaitFailure(() -> failure(arguments[0])));
      System.exit(1);
    }

    /** Asked when the process can be asked to end. */
    private static String failure(String failure) {
      System.out.println("ready");
      System.out.flush();
      return failure;
    }
  }
}
