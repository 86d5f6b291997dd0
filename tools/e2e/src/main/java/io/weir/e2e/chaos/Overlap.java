// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;

/** Two faults that affect different parts. The second fault begins soon after the first fault. */
final class Overlap {
  private final List<Fault> faults;
  private final Lasting lasting;

  Overlap(List<Fault> faults, Lasting lasting) {
    this.faults = List.copyOf(faults);
    this.lasting = lasting;
  }

  Fault fault() {
    return Fault.of("two faults at once", EnumSet.allOf(Ground.class), this::run);
  }

  private void run(Scene scene) throws Exception {
    Fault first = faults.get(scene.random().nextInt(faults.size()));
    List<Fault> others = new ArrayList<>();
    for (Fault fault : faults) {
      if (areApart(fault.grounds(), first.grounds())) {
        others.add(fault);
      }
    }
    Fault second = others.get(scene.random().nextInt(others.size()));
    scene.truth().note(first.name() + " + " + second.name());
    Scene ofFirst = of(scene);
    Scene ofSecond = of(scene);
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      Future<?> one = threads.submit(() -> injected(first, ofFirst));
      lasting.aMoment(scene.random());
      Future<?> other = threads.submit(() -> injected(second, ofSecond));
      try {
        one.get();
      } finally {
        other.get();
      }
    } catch (ExecutionException failed) {
      throw new IllegalStateException(first.name() + " + " + second.name(), failed.getCause());
    } finally {
      threads.shutdown();
    }
  }

  private static boolean areApart(Set<Ground> some, Set<Ground> others) {
    return Collections.disjoint(some, others);
  }

  private static boolean injected(Fault fault, Scene scene) throws Exception {
    fault.inject(scene);
    return true;
  }

  /**
   * Returns a scene with a separate random generator. So the same seed gives the same faults,
   * whatever the timing of threads.
   */
  private static Scene of(Scene scene) {
    RandomGenerator own =
        RandomGeneratorFactory.of("L64X128MixRandom").create(scene.random().nextLong());
    return new Scene(scene.cluster(), scene.truth(), own);
  }
}
