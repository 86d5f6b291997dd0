// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.topics.model.CallEvent;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Compares encoded batches with the published schema. Uses the Protocol Buffers compiler. */
final class SchemaTest {
  private static final Path FOLDER = Path.of("src/main/resources/io/weir/topics/schema");

  /** A field that the schema lacks; the compiler prints its number. */
  private static final Pattern UNKNOWN_FIELD = Pattern.compile("(?m)^\\s*\\d+[:{ ]");

  @Test
  void compiler_decodesAndEncodesTheSameCalls() throws Exception {
    assumeTrue(hasCompiler(), "protoc is not installed: the schema is not compared");
    List<CallEvent> calls = new RandomCalls(new Random(17)).calls(200);
    byte[] value = CallBatchWriter.encode(calls);

    String text = new String(protoc("--decode", value), StandardCharsets.UTF_8);
    byte[] encoded = protoc("--encode", text.getBytes(StandardCharsets.UTF_8));

    assertTrue(!UNKNOWN_FIELD.matcher(text).find(), text);
    assertTrue(text.contains("decided_by: FAIL_OPEN"), text);
    assertEquals(calls, CallBatchReader.decode(encoded));
  }

  private static boolean hasCompiler() {
    for (String folder : String.valueOf(System.getenv("PATH")).split(File.pathSeparator, -1)) {
      if (Files.isExecutable(Path.of(folder, "protoc"))) {
        return true;
      }
    }
    return false;
  }

  private static byte[] protoc(String action, byte[] input) throws IOException {
    List<String> command = new ArrayList<>();
    command.add("protoc");
    command.add(action + "=weir.calls.v1.CallBatch");
    command.add("--proto_path=" + FOLDER);
    command.add("weir-calls.proto");
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    Thread writer =
        new Thread(
            () -> {
              try (OutputStream out = process.getOutputStream()) {
                out.write(input);
              } catch (IOException ended) {
                process.destroy(); // the assertion on the output fails
              }
            });
    writer.start();
    return process.getInputStream().readAllBytes();
  }
}
