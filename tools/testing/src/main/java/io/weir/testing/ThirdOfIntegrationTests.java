// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import java.lang.reflect.Method;
import java.util.Optional;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.PostDiscoveryFilter;

/**
 * Leaves out the integration tests that are not of the third that a run is for ({@link SuiteForm}).
 * What is marked with {@link FullSuite} is told apart by its turn alone.
 */
public final class ThirdOfIntegrationTests implements PostDiscoveryFilter {
  private final SuiteForm form;

  /** Creates the filter of this run. */
  public ThirdOfIntegrationTests() {
    this(SuiteForm.current());
  }

  ThirdOfIntegrationTests(SuiteForm form) {
    this.form = form;
  }

  @Override
  public FilterResult apply(TestDescriptor test) {
    Optional<MethodSource> method =
        test.getSource().filter(MethodSource.class::isInstance).map(MethodSource.class::cast);
    return FilterResult.includedIf(
        method.isEmpty() || isIncluded(method.get().getJavaClass(), method.get().getJavaMethod()));
  }

  private boolean isIncluded(Class<?> of, Method method) {
    return of.isAnnotationPresent(FullSuite.class)
        || method.isAnnotationPresent(FullSuite.class)
        || form.includesClass(outermost(of).getSimpleName());
  }

  private static Class<?> outermost(Class<?> of) {
    Class<?> outer = of.getEnclosingClass();
    return outer == null ? of : outermost(outer);
  }
}
