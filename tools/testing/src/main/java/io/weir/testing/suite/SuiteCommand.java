// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import io.weir.testing.SuiteForm;
import io.weir.testing.suite.TestResult.Outcome;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The command {@code weir test}: runs the tests of all modules, and prints the results. */
@Command(
    name = "weir test",
    mixinStandardHelpOptions = true,
    description =
        "Runs the unit tests, the simulation, and the integration tests marked with CoreSuite, "
            + "which use a real Kafka and a real Redis. With -Dit.test, exactly the named "
            + "integration tests run, whatever the other options are.",
    footer = {
      "",
      "Exit status: 0 every test passed; 1 a test or the build failed; 2 invalid",
      "arguments. The output of Maven is in tools/testing/target/test.log, the output",
      "of tests in MODULE/target/surefire-reports and failsafe-reports.",
      "",
      "Examples:",
      "  ./weir test                            before every commit",
      "  ./weir test --all                      before every push",
      "  ./weir test -pl topics -am             one module and its dependencies",
      "  ./weir test -Dtest=TokenBucketTest -Dit.test=NoIT    one class"
    })
public final class SuiteCommand implements Callable<Integer> {
  private static final String THREADS = "3";

  /**
   * Name of the file that lists the modules that Maven has just built. The script {@code weir}
   * reads this file.
   */
  private static final String BUILT = "weir.just-built";

  /**
   * JVM option that enables the optimizing compiler. Some data races occur only in optimized code.
   */
  private static final String OPTIMIZED = "-Dweir.jvm.quick=-XX:+UseSerialGC";

  @Spec
  @SuppressWarnings("NullAway.Init") // set by picocli before the command runs
  private CommandSpec spec;

  @Option(names = "--all", description = "run every integration test that CI runs")
  private boolean all;

  @Option(
      names = "--full",
      description = "run every test with its full amount of work, and then --containers")
  private boolean full;

  @Option(
      names = "--containers",
      description = "run a part of the suite with containers, if a Docker engine is available")
  private boolean containers; // the script handles this option

  @Parameters(paramLabel = "MAVEN", description = "further arguments for Maven, passed unchanged")
  private List<String> mavenArguments = new ArrayList<>();

  private final Path root;
  private final boolean terminal;

  SuiteCommand(Path root, boolean terminal) {
    this.root = root;
    this.terminal = terminal;
  }

  /**
   * Runs the tests and exits with the status.
   *
   * @param arguments the arguments of {@code ./weir test}. The script sets the properties {@code
   *     weir.root}, the repository's root, and {@code weir.terminal}, which states whether the
   *     output is a terminal
   */
  public static void main(String[] arguments) {
    SuiteCommand command =
        new SuiteCommand(
            Path.of(System.getProperty("weir.root", ".")).toAbsolutePath().normalize(),
            Boolean.getBoolean("weir.terminal"));
    System.exit(
        new CommandLine(command).setUnmatchedOptionsArePositionalParams(true).execute(arguments));
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (containers) {
      throw new ParameterException(spec.commandLine(), "--containers must be the only argument");
    }
    PrintWriter out = spec.commandLine().getOut();
    Modules modules = new Modules(root);
    Path log = Files.createDirectories(root.resolve("tools/testing/target")).resolve("test.log");
    Path built = root.resolve("tools/testing/target").resolve(BUILT);
    FileTime since = FileTime.from(Instant.now().minusSeconds(1));
    long startNanos = System.nanoTime();
    String form = full ? " --full" : all ? " --all" : "";
    out.printf("weir test%s, Java %s%n", form, System.getProperty("java.version"));
    out.flush();
    MavenLog read;
    Set<String> broken;
    int status;
    try (Progress progress = new Progress(out, modules.testClasses(), terminal)) {
      read = new MavenLog(progress);
      status = runMaven(command(), log, read);
      Files.write(built, progress.built());
      broken = new TreeSet<>(progress.broken());
    }
    List<TestResult> results = ReportReader.read(modules.folders(), since);
    Summary.printFailures(out, results);
    Summary.printFlaky(out, results);
    results.stream().filter(TestResult::isWrong).forEach(wrong -> broken.remove(wrong.module()));
    if (!broken.isEmpty() || (status != 0 && results.stream().noneMatch(TestResult::isWrong))) {
      out.printf(
          "%n== FAILED, but not because of a test: %s; errors of Maven (complete output in "
              + "%s):%n",
          broken, log);
      read.errors().forEach(out::println);
    }
    Summary.printSlowest(out, results);
    Summary.printLeftOut(out, results, leftOut());
    Summary.printCounts(out, results);
    out.printf(
        "%nweir test: %s, %d tests, %d failed, %d flaky, %d left out, in %s%n",
        status == 0 ? "passed" : "FAILED",
        results.size(),
        results.stream().filter(TestResult::isWrong).count(),
        results.stream().filter(result -> result.outcome() == Outcome.FLAKY).count(),
        results.stream().filter(result -> result.outcome() == Outcome.SKIPPED).count(),
        Progress.clock(System.nanoTime() - startNanos).strip());
    out.flush();
    return status == 0 ? 0 : 1;
  }

  /**
   * Returns whether the run includes the strict compilation. Most runs omit this compilation,
   * because it occupies two processors for minutes.
   */
  private boolean runsChecks() {
    return full || mavenArguments.contains("-pl");
  }

  private boolean namesIntegrationTests() {
    return mavenArguments.stream().anyMatch(argument -> argument.startsWith("-Dit.test="));
  }

  /** Returns the parts of the suite that this run omits. */
  private List<String> leftOut() {
    List<String> parts = new ArrayList<>();
    if (!full && !namesIntegrationTests()) {
      parts.add("integration tests marked with FullSuite (--full)");
      if (!all) {
        parts.add("integration tests not marked with CoreSuite (--all)");
      }
    }
    if (!runsChecks()) {
      parts.add("the strict compilation (--full; mvn -pl tools/checks verify)");
    }
    return parts;
  }

  private List<String> command() {
    List<String> command = new ArrayList<>();
    command.addAll(List.of("mvn", "-B", "-ntp", "-T", THREADS, "--fail-at-end", "verify"));
    if (full) {
      command.addAll(List.of("-D" + SuiteForm.PROPERTY + "=full", OPTIMIZED));
    } else if (!namesIntegrationTests()) {
      command.add("-Dweir.it.tags=" + (all ? "!full" : "core&!full"));
    }
    if (!runsChecks()) {
      command.addAll(List.of("-pl", "!tools/checks"));
    }
    command.addAll(mavenArguments);
    return command;
  }

  /**
   * Runs Maven until it ends, and returns its exit status. If this process ends first, it stops
   * Maven.
   */
  private int runMaven(List<String> command, Path log, MavenLog read)
      throws IOException, InterruptedException {
    Process maven =
        new ProcessBuilder(command).directory(root.toFile()).redirectErrorStream(true).start();
    Thread stop =
        new Thread(
            () -> {
              maven.descendants().forEach(ProcessHandle::destroy);
              maven.destroy();
            },
            "stop-maven");
    Runtime.getRuntime().addShutdownHook(stop);
    try (BufferedReader lines = maven.inputReader(StandardCharsets.UTF_8);
        BufferedWriter kept = Files.newBufferedWriter(log)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        kept.write(line);
        kept.newLine();
        read.line(line);
      }
    }
    int status = maven.waitFor();
    Runtime.getRuntime().removeShutdownHook(stop);
    return status;
  }
}
