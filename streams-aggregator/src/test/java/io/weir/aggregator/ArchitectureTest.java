// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The permitted dependencies between packages. */
final class ArchitectureTest {
  /** The JDK's packages without threads, files and clocks, and the pure modules below. */
  private static final String[] PURE = {
    "java.lang",
    "java.lang.invoke",
    "java.lang.runtime",
    "java.nio",
    "java.nio.charset",
    "java.util",
    "java.util.function",
    "java.util.stream",
    "org.jspecify..",
    "io.weir.limits..",
    "io.weir.topics.model",
  };

  private static JavaClasses classes;

  @BeforeAll
  static void read() {
    classes =
        new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS)
            .importPackages("io.weir.aggregator");
  }

  @Test
  void state_dependsOnTheJdkAlone() {
    classes()
        .that()
        .resideInAPackage("io.weir.aggregator.state")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "java.lang..",
            "java.nio.charset",
            "java.util",
            "org.jspecify..",
            "io.weir.aggregator.state")
        .check(classes);
  }

  @Test
  void audit_dependsOnModelAndStateAlone_notOnTheCounting() {
    classes()
        .that()
        .resideInAPackage("io.weir.aggregator.audit..")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(and(PURE, "io.weir.aggregator.state", "io.weir.aggregator.audit.."))
        .check(classes);
  }

  @Test
  void oneBucket_doesNotKnowTheOthers() {
    noClasses()
        .that()
        .resideInAPackage("io.weir.aggregator.audit.bucket")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.weir.aggregator.audit")
        .check(classes);
  }

  @Test
  void watermark_dependsOnModelAndStateAlone() {
    classes()
        .that()
        .resideInAPackage("io.weir.aggregator.watermark")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(and(PURE, "io.weir.aggregator.state", "io.weir.aggregator.watermark"))
        .check(classes);
  }

  @Test
  void countingRules_dependOnModelWireStateAuditAndWatermarkAlone() {
    classes()
        .that()
        .resideInAPackage("io.weir.aggregator.count")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            and(
                PURE,
                "io.weir.topics.calls",
                "io.weir.topics.wire",
                "io.weir.aggregator.state",
                "io.weir.aggregator.audit",
                "io.weir.aggregator.watermark",
                "io.weir.aggregator.count"))
        .check(classes);
  }

  @Test
  void pureRules_readNoClockAndStartNoThread() {
    noClasses()
        .that()
        .resideInAnyPackage(
            "io.weir.aggregator.state",
            "io.weir.aggregator.audit..",
            "io.weir.aggregator.watermark",
            "io.weir.aggregator.count")
        .should()
        .dependOnClassesThat()
        .areAssignableTo(Thread.class)
        .orShould()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .callMethod(System.class, "nanoTime")
        .check(classes);
  }

  private static String[] and(String[] some, String... more) {
    return Stream.concat(Stream.of(some), Stream.of(more)).toArray(String[]::new);
  }

  @Test
  void javalin_isKnownToReportsAlone() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.weir.aggregator.report..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.javalin..", "org.eclipse.jetty..", "jakarta.servlet..")
        .check(classes);
  }

  @Test
  void sketches_areKnownToRankingsAlone_whichDoNotKnowReports() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.weir.aggregator.ranking")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("org.apache.datasketches..")
        .check(classes);
    noClasses()
        .that()
        .resideInAPackage("io.weir.aggregator.ranking")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.weir.aggregator.report..", "io.weir.aggregator.topology..")
        .check(classes);
  }

  @Test
  void topologies_doNotKnowReports() {
    noClasses()
        .that()
        .resideInAPackage("io.weir.aggregator.topology..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.weir.aggregator.report..")
        .check(classes);
  }

  @Test
  void aggregator_dependsOnNeitherIngestNorDecisions() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.weir.ingest..", "io.weir.decision..")
        .check(classes);
  }

  @Test
  void environment_isLeftToTheLauncher() {
    noClasses()
        .should()
        .callMethod(System.class, "getenv")
        .orShould()
        .callMethod(System.class, "getenv", String.class)
        .check(classes);
  }

  @Test
  void threads_neverSleep() {
    noClasses().should().callMethod(Thread.class, "sleep", long.class).check(classes);
  }

  @Test
  void packages_haveNoCycles() {
    slices().matching("io.weir.aggregator.(*)..").should().beFreeOfCycles().check(classes);
  }
}
