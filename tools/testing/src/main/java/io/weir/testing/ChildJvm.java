// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Creates the command line with which a test starts another JVM. The other JVM has the same Java
 * version and the same class path.
 *
 * <p>The system property {@code weir.test.child} contains further options. Maven sets this property
 * so that these JVMs use only the fast compiler, which halves the CPU time of the suite's many
 * short processes. {@code ./weir chaos} does not set the property, because its processes run for
 * long.
 */
public final class ChildJvm {
  private static final String PROPERTY = "weir.test.child";
  private static final int FIRST_WITH_NATIVE_ACCESS = 21;

  /** The first version that warns of {@code sun.misc.Unsafe}, which protobuf-java uses. */
  private static final int FIRST_WITH_UNSAFE_WARNING = 24;

  private ChildJvm() {}

  /**
   * Returns a command line up to the class path. The caller appends the main class.
   *
   * @param heap maximum heap, as for {@code -Xmx}
   * @param options further JVM options, which have precedence over the default options
   */
  public static List<String> command(String heap, List<String> options) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx" + heap);
    if (Runtime.version().feature() >= FIRST_WITH_NATIVE_ACCESS) {
      command.add("--enable-native-access=ALL-UNNAMED");
    }
    if (Runtime.version().feature() >= FIRST_WITH_UNSAFE_WARNING) {
      command.add("--sun-misc-unsafe-memory-access=allow");
    }
    String further = System.getProperty(PROPERTY, "").strip();
    if (!further.isEmpty()) {
      command.addAll(List.of(further.split("\\s+", -1)));
    }
    command.addAll(options);
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    return command;
  }

  /**
   * Returns the command line of a main class.
   *
   * @param heap maximum heap, as for {@code -Xmx}
   */
  public static List<String> command(String heap, Class<?> main, String... arguments) {
    List<String> command = command(heap, List.of());
    command.add(main.getName());
    command.addAll(List.of(arguments));
    return command;
  }
}
