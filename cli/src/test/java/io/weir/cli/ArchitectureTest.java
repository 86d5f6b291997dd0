// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketState;
import io.weir.limits.TokenBucket;
import io.weir.limits.check.CheckDecider;
import io.weir.topics.wire.BatchHeaderCodec;
import org.junit.jupiter.api.Test;

/** The verifier would prove nothing if it counted with the aggregator's code. */
final class ArchitectureTest {
  @Test
  void verify_sharesNothingWithTheAggregatorButTheTopics() {
    noClasses()
        .that()
        .resideInAnyPackage("io.weir.cli.verify", "io.weir.cli.records")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(
            "io.weir.aggregator..",
            "io.weir.ingest..",
            "io.weir.decision..",
            "io.weir.topics.calls..",
            "io.weir.topics.log..",
            "com.google.protobuf..",
            "org.apache.kafka.streams..")
        .orShould()
        .dependOnClassesThat()
        .belongToAnyOf(BatchHeaderCodec.class)
        .check(
            new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS)
                .importPackages("io.weir.cli"));
  }

  /** A replay would prove nothing if it decided with the code that has decided. */
  @Test
  void replay_decidesByItsOwnArithmetic() {
    noClasses()
        .that()
        .resideInAnyPackage("io.weir.cli.replay", "io.weir.cli.records")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(
            "io.weir.aggregator..",
            "io.weir.decision..",
            "io.weir.ingest.gate..",
            "io.weir.limits.correction..",
            "io.weir.topics.calls..",
            "com.google.protobuf..")
        .orShould()
        .dependOnClassesThat()
        .belongToAnyOf(
            BucketArithmetic.class, BucketState.class, CheckDecider.class, TokenBucket.class)
        .check(
            new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS)
                .importPackages("io.weir.cli"));
  }

  @Test
  void packages_haveNoCycles_andOnlyTheCommandLineKnowsAllCommands() {
    JavaClasses cli =
        new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS)
            .importPackages("io.weir.cli");
    slices().matching("io.weir.cli.(*)..").should().beFreeOfCycles().check(cli);
    noClasses()
        .that()
        .resideInAPackage("io.weir.cli.(*)..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.weir.cli")
        .check(cli);
  }
}
