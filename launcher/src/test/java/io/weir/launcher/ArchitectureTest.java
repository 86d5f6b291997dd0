// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The verifier would prove nothing if it counted with the aggregator's code. */
final class ArchitectureTest {
  @Test
  void verify_sharesNothingWithTheAggregatorButTheTopics() {
    noClasses()
        .that()
        .resideInAPackage("io.weir.launcher.verify")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(
            "io.weir.aggregator..",
            "io.weir.ingest..",
            "io.weir.decision..",
            "org.apache.kafka.streams..")
        .check(
            new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS)
                .importPackages("io.weir.launcher"));
  }
}
