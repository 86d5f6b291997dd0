// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import io.weir.testing.ChildJvm;
import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process ends when it is asked, and when a part of it is dead, whatever hangs. */
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

  @Test
  void asked_closingHangs_endsAtTheLimitAndSaysWhere() throws Exception {
    Process process = start("");

    process.destroy();

    assertTrue(process.waitFor(Await.PATIENCE.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(1, process.exitValue());
    String errors = Files.readString(folder.resolve("errors"));
    assertTrue(errors.contains("did not stop within PT2S"), errors);
    assertTrue(errors.contains("Hanging"), errors);
  }

  /** Once, a node that was stopped while it started said no goodbye, and all windows waited. */
  @Test
  void askedWhileItStarts_isClosedOnceItIsStarted() throws Exception {
    Process process =
        new ProcessBuilder(ChildJvm.command("64m", Starting.class, folder.toString())).start();
    BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
    assertEquals("starting", output.readLine());

    process.toHandle().destroy(); // its output stays open
    assertEquals("asked", output.readLine());
    Files.createFile(folder.resolve("go"));

    assertEquals("closed", output.readLine());
    assertTrue(process.waitFor(Await.PATIENCE.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(0, process.exitValue());
  }

  @Test
  void partDead_closingHangs_endsByItselfAndSaysWhich() throws Exception {
    Process process = start("Kafka has stopped: no room");

    assertTrue(process.waitFor(Await.PATIENCE.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals(1, process.exitValue());
    String errors = Files.readString(folder.resolve("errors"));
    assertTrue(errors.contains("the process ends: Kafka has stopped: no room"), errors);
  }

  /** A process whose resource is started when a file is there. */
  static final class Starting {
    private Starting() {}

    public static void main(String[] arguments) throws Exception {
      Runtime.getRuntime().addShutdownHook(new Thread(() -> say("asked")));
      AutoCloseable started =
          Stop.start(
              () -> {
                say("starting");
                Path go = Path.of(arguments[0], "go");
                Await.until("the file is there", () -> Files.exists(go));
                return (AutoCloseable) () -> say("closed");
              },
              Duration.ofSeconds(10));
      say("not asked: " + started);
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
      System.exit(Stop.awaitAndClose(hanging, () -> failure(arguments[0]), Duration.ofSeconds(2)));
    }

    /** Asked when the process can be asked to end. */
    private static String failure(String failure) {
      System.out.println("ready");
      System.out.flush();
      return failure;
    }
  }
}
