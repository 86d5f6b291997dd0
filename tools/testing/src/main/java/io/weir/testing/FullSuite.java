// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Marks a test class or method that {@code ./weir test} leaves out and {@code ./weir test --all}
 * runs: it takes too long for a run that a person waits for, and what it proves is also proven, to
 * a lesser extent, by a test that always runs.
 *
 * <p>A test that is left out is reported as skipped, with the reason given here.
 *
 * @see SuiteForm
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
@ExtendWith(FullSuiteCondition.class)
public @interface FullSuite {
  /** Returns why it is left out of the short run, and which test replaces it there. */
  String reason();
}
